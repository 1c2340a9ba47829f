package testcontainers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// helperVariable turns the test binary into a program that a test starts and watches from outside.
const helperVariable = "PGWEFT_TEST_HELPER"

// patience is the deadline of conditions that are polled; they are met long before.
const patience = time.Minute

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperVariable); mode != "" {
		os.Exit(helper(mode))
	}
	Main(m)
}

// started is what a helper tells about the server it started.
type started struct {
	Backend    string
	ConnString string
	Error      string
}

func helper(mode string) int {
	switch mode {
	case "run until killed":
		p, err := Run(context.Background(), WithBackend(Local), WithoutMigrations())
		report(p, err)
		select {}
	case "choose":
		p, err := Run(context.Background(), WithoutMigrations())
		report(p, err)
		return closed(p)
	case "docker only":
		p, err := Run(context.Background(), WithBackend(Docker))
		report(p, err)
		return closed(p)
	case "leave a database":
		return runMain(testsThat(func() int {
			p, err := shared.get()
			report(p, err)
			if _, err := p.Clone(context.Background()); err != nil {
				return 2
			}
			return 0
		}), []Option{WithBackend(Local), WithoutMigrations()})
	case "leave a goroutine":
		return runMain(testsThat(func() int {
			go func() { select {} }()
			return 0
		}), nil)
	case "leave nothing":
		return runMain(testsThat(func() int {
			p, err := shared.get()
			report(p, err)
			db, err := p.Clone(context.Background())
			if err != nil || db.Drop(context.Background()) != nil {
				return 2
			}
			return 0
		}), []Option{WithBackend(Local), WithoutMigrations()})
	}
	return 3
}

type testsThat func() int

func (f testsThat) Run() int { return f() }

func report(p *Postgres, err error) {
	var s started
	if err != nil {
		s.Error = err.Error()
	} else {
		s.Backend, s.ConnString = p.Backend().String(), p.ConnString()
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
}

func closed(p *Postgres) int {
	if p == nil {
		return 0
	}
	if err := p.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startHelper starts this test binary as a helper in a session of its own, with more environment.
func startHelper(t *testing.T, mode string, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+mode, "DATABASE_URL=")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownSession()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

func readStarted(t *testing.T, out *bufio.Reader) started {
	t.Helper()
	line, err := out.ReadBytes('\n')
	require.NoError(t, err, "the helper said nothing")
	var s started
	require.NoError(t, json.Unmarshal(line, &s))
	return s
}

// clusterDir is the directory of the local cluster that a connection string leads to.
func clusterDir(t *testing.T, connString string) string {
	t.Helper()
	config, err := pgx.ParseConfig(connString)
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(config.Host), "%q is not the directory of a socket", config.Host)
	return config.Host
}

// requireGone waits until a cluster's directory is gone and no process works in it.
func requireGone(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist) && len(processesIn(t, dir)) == 0
	}, patience, 50*time.Millisecond, "the server in %s was not cleaned up", dir)
}

// processesIn lists the command lines of programs that were given the directory: the server, initdb, the watchdog.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,command=").Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) {
			found = append(found, line)
		}
	}
	return found
}

// sharedServer is the one that Main closes.
func sharedServer(tb testing.TB) *Postgres {
	tb.Helper()
	p, err := shared.get()
	require.NoError(tb, err)
	return p
}

// runOwn starts a server for one test.
func runOwn(t *testing.T, opts ...Option) *Postgres {
	t.Helper()
	p, err := Run(t.Context(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	return p
}

// queryValue connects, reads one value and disconnects.
func queryValue[T any](t *testing.T, connString, sql string, args ...any) T {
	t.Helper()
	var value T
	err := withConn(t.Context(), connString, func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), sql, args...).Scan(&value)
	})
	require.NoError(t, err)
	return value
}

func execute(t *testing.T, connString, sql string, args ...any) {
	t.Helper()
	err := withConn(t.Context(), connString, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), sql, args...)
		return err
	})
	require.NoError(t, err)
}

func requireCode(t *testing.T, code string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, code, pgErr.Code)
}

// onMessage calls do when a record with the message is logged.
type onMessage struct {
	slog.Handler
	message string
	do      func(slog.Record)
}

func (h onMessage) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.do(r)
	}
	return nil
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }

func loggerThat(message string, do func(slog.Record)) *slog.Logger {
	return slog.New(onMessage{slog.DiscardHandler, message, do})
}

func attribute(r slog.Record, key string) string {
	var value string
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			value = a.Value.String()
		}
		return true
	})
	return value
}

// tee handles every record twice.
type tee [2]slog.Handler

func (h tee) Enabled(context.Context, slog.Level) bool { return true }

func (h tee) Handle(ctx context.Context, r slog.Record) error {
	return errors.Join(h[0].Handle(ctx, r), h[1].Handle(ctx, r))
}

func (h tee) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h tee) WithGroup(string) slog.Handler { return h }
