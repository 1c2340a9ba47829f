// Command check runs each peer of the benchmark of savers on a database of its own, asks it for every operation that it
// offers, and compares what it answers with what its payloads say. It prints `name: N passed, N failed` for each peer, and
// ends with a status other than 0 where one failed or did not start.
//
//	check DIRECTORY PEER [PEER ...]    the peer's program is DIRECTORY/PEER/run.sh, or PROGRAM where PEER is NAME=PROGRAM
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/testcontainers"
)

// timeout bounds everything done with one peer, of which the installation of its packages is the slowest.
const timeout = 10 * time.Minute

func main() {
	log.SetFlags(0)
	log.SetPrefix("check: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) < 2 {
		return errors.New("usage: check DIRECTORY PEER [PEER ...]")
	}
	postgres, err := testcontainers.Run(ctx, testcontainers.WithoutFsync())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Close(context.WithoutCancel(ctx))) }()
	payloads, err := writePayloads()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(payloads)) }()
	for _, peer := range args[1:] {
		name, program, given := strings.Cut(peer, "=")
		if !given {
			program = filepath.Join(args[0], name, "run.sh")
		}
		err = errors.Join(err, checkPeer(ctx, postgres, payloads, program, name))
	}
	return err
}

func writePayloads() (name string, err error) {
	file, err := os.CreateTemp("", "payloads-*.json")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.Name(), json.NewEncoder(file).Encode(bodies)
}

func checkPeer(ctx context.Context, postgres *testcontainers.Postgres, payloads, program, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	database, drop, err := emptyDatabase(ctx, postgres, "peer_"+name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop(context.WithoutCancel(ctx))) }()
	p, err := startPeer(ctx, program)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	tally := checks{peer: p, name: name}
	if err := tally.all(database, payloads); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), p.kill())
	}
	if err := p.quit(); err != nil {
		return fmt.Errorf("%s does not end well: %w", name, err)
	}
	fmt.Printf("%s: %d passed, %d failed\n", name, tally.passed, tally.failed)
	if tally.failed > 0 || tally.passed == 0 {
		return fmt.Errorf("%s failed", name)
	}
	return nil
}

// emptyDatabase makes a database without our schema: peers bring their own tables.
func emptyDatabase(ctx context.Context, postgres *testcontainers.Postgres, name string) (string, func(context.Context) error, error) {
	admin, err := pgx.Connect(ctx, postgres.TCPConnString())
	if err != nil {
		return "", nil, err
	}
	quoted := pgx.Identifier{name}.Sanitize()
	if _, err := admin.Exec(ctx, "create database "+quoted+" encoding 'UTF8' template template0"); err != nil {
		return "", nil, errors.Join(err, admin.Close(ctx))
	}
	drop := func(ctx context.Context) error {
		_, err := admin.Exec(ctx, "drop database "+quoted+" with (force)")
		return errors.Join(err, admin.Close(ctx))
	}
	connection, err := url.Parse(postgres.TCPConnString())
	if err != nil {
		return "", nil, errors.Join(err, drop(ctx))
	}
	connection.Path = "/" + name
	return connection.String(), drop, nil
}
