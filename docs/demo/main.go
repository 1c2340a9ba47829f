// Command demo fills a migrated database with the data that the documents look at: four weeks of an insurance company's
// support agent, 240 conversations, always the same ones.
//
//	go run ./docs/demo "$DATABASE_URL"
//
// The agent is a graph of three nodes. model answers or calls tools, tools looks things up, and approve asks a human before
// money is paid back. Some conversations wait there, some failed, some were rolled back and went on in a branch. They are saved
// as LangGraph saves them, through the Go saver; only the clock is not the real one.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/pgsaver"
)

// conversations is how many threads there are.
const conversations = 240

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: demo <connection URL of a migrated database>")
	}
	conn, err := pgx.Connect(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return fill(ctx, tx) })
}

// fill saves every conversation, then sets the clock.
func fill(ctx context.Context, tx pgx.Tx) error {
	saver := pgsaver.New(tx, nil)
	clock := &clock{}
	for number := range conversations {
		if err := converse(ctx, saver, clock, number); err != nil {
			return fmt.Errorf("conversation %d: %w", number, err)
		}
	}
	return clock.set(ctx, tx)
}
