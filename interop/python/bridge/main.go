// Command bridge serves a pgsaver on its standard input and output, one JSON object a line, so that a Python program can use
// the Go saver as a LangGraph checkpointer. It is made for LangGraph's own tests: see interop/python/README.md.
//
// Values pass as LangGraph's serializer made them, a type and bytes; the bridge does not look into them. Requests are
// answered in their order. It finds or starts
// a Postgres by itself and removes what it started when its input ends; with DATABASE_URL it uses that server, in a database
// of its own.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/testcontainers"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bridge: ")
	// A client that is gone is an error of the write, after which Postgres is still to be removed; by default it would end
	// the process at once.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	postgres, err := testcontainers.Run(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Close(context.WithoutCancel(ctx))) }()
	pool, err := pgxpool.New(ctx, postgres.ConnString())
	if err != nil {
		return err
	}
	defer pool.Close()
	defer closePools()

	server := &server{saver: pgsaver.New(pool, &pgsaver.Config{Serde: passThrough{}}), out: out}
	if err := server.send(greeting{
		Backend:       postgres.Backend().String(),
		DatabaseURL:   postgres.TCPConnString(),
		ServerVersion: postgres.ServerVersion(),
	}); err != nil {
		return err
	}
	return server.serve(ctx, in)
}
