// Package pgsaver saves checkpoints in Postgres. It is a thin map onto pgweft's SQL functions: values are serialized,
// one function is called in one round trip, and rows and SQLSTATEs are mapped back. Every rule about the data is in
// those functions, so that psql, Python and Go behave alike; the tables are those of LangGraph's own Postgres savers, and
// threads are shared with Python agents.
//
//	pool, err := pgxpool.New(ctx, databaseURL)
//	saver := pgsaver.New(pool, nil)
//	tuple, err := saver.Get(ctx, checkpoint.Config{ThreadID: "thread-1"})
//
// The schema is never changed from here: "migrate up" installs it. A Saver checks once that the schema's version suits
// it, which costs the first call one more round trip.
//
// It works in every exec mode of pgx, so also through poolers in transaction mode.
package pgsaver
