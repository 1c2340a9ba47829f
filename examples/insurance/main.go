// Command insurance is the conversation of an insurance advisor, saved, rolled back and read again on a real Postgres.
//
// A customer says hello, asks for a medical insurance, gets a recommendation from three nodes, and changes her mind: the
// conversation goes back to the greeting and on from there, on a branch of its own. The program prints what each step left
// in the three tables, draws the branches, and runs the SELECTs an analyst would.
//
// It needs no configuration: it finds or starts a Postgres with pgvector by itself, and removes what it started. With
// DATABASE_URL it uses that server instead, in a database of its own. With -into and the URL of a migrated database it saves
// the conversation there, and leaves it.
package main

import (
	"context"
	"flag"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/examples/internal/demo"
	"github.com/pgweft/pgweft/pgsaver"
)

func main() {
	into := flag.String("into", "", "URL of a migrated database to save the conversation in; it stays there")
	flag.Parse()
	demo.Main("insurance", *into, run)
}

func run(ctx context.Context, databaseURL string, out io.Writer) error {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()

	saver := pgsaver.New(pool, nil)
	report := &report{pool: pool, out: out}
	for _, chapter := range []func() error{
		func() error { return advise(ctx, saver, report) },
		func() error { return changeMind(ctx, saver, report) },
		func() error { return readBack(ctx, saver, report) },
		func() error { return showTables(ctx, report) },
		func() error { return overview(ctx, saver, report) },
		func() error { return runQueries(ctx, report) },
	} {
		if err := chapter(); err != nil {
			return err
		}
	}
	return nil
}

// The thread of the conversation, and its four checkpoints.
const (
	conversation = "thread_abc123"
	empty        = "ckpt_001"
	greeted      = "ckpt_002"
	recommended  = "ckpt_003"
	rolledBack   = "ckpt_004"
)

func at(thread, id string) checkpoint.Config {
	return checkpoint.Config{ThreadID: thread, CheckpointID: id}
}
