// Package otelweft makes traces and metrics of what savers and sweeps do, by OpenTelemetry's API: one span and one measurement
// for each call, which with pgsaver is one round trip. It is a module of its own, so that who imports pgsaver does not carry
// OpenTelemetry.
//
//	telemetry, err := otelweft.New(nil) // the global providers
//	saver := telemetry.Saver(pgsaver.New(pool, nil))
//	sweeper, err := pgsaver.New(pool, nil).StartSweeper(time.Hour, pgsaver.SweepOptions{Observe: telemetry.Sweep}, nil)
//
// Prometheus gets the metrics through OpenTelemetry's exporter for it: see the directory example.
//
// # What is recorded
//
// Names of attributes follow OpenTelemetry's semantic conventions for databases. A span, and its db.operation.name, are named
// after the SQL function that does the work (put_checkpoint, get_checkpoint, sweep), so that a trace and pg_stat_statements say
// the same. Spans are of kind client. Those that failed have error.type, and db.response.status_code where Postgres said an
// SQLSTATE; that there is no checkpoint yet is an answer of get_checkpoint, not a failure.
//
//	metric                            unit          attributes
//	db.client.operation.duration      s             db.system.name, db.operation.name, error.type
//	pgweft.removed.checkpoints        {checkpoint}  db.operation.name: prune, delete_for_runs, sweep
//	pgweft.removed.size               By            db.operation.name: the same
//	pgweft.sweep.duration             s             pgweft.sweep.outcome: done, unfinished, left_to_another, failed; error.type
//	pgweft.sweep.threads              {thread}      looked at
//	pgweft.sweep.store_items          {item}        expired and removed
//	pgweft.sweep.last_done            s             Unix time of the newest sweep here that came to the end
//
// No value, no metadata, no text of an error and no identifier is recorded, because each may hold what people wrote or who
// they are; Config.ThreadIDs makes an exception for threads.
package otelweft
