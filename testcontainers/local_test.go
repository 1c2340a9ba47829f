//go:build unix

package testcontainers

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestALocalServer(t *testing.T) {
	t.Parallel()
	p, err := Run(t.Context(), WithBackend(Local), WithSchema("agents"))
	require.NoError(t, err)
	dir := clusterDir(t, p.ConnString())

	require.Equal(t, Local, p.Backend())
	require.Equal(t, p.ServerVersion(), queryValue[int](t, p.ConnString(), "select current_setting('server_version_num')::int"))
	require.Equal(t, "on", queryValue[string](t, p.ConnString(), "show fsync"))
	require.Equal(t, "UTF8", queryValue[string](t, p.ConnString(), "show server_encoding"))
	require.Equal(t, "on", queryValue[string](t, p.ConnString(), "show is_superuser"))
	require.True(t, queryValue[bool](t, p.ConnString(), "select to_regclass('agents.checkpoints') is not null"))
	require.True(t, queryValue[bool](t, p.ConnString(), "select inet_server_addr() is null"), "through the socket")
	require.Equal(t, "127.0.0.1", queryValue[string](t, p.TCPConnString(), "select host(inet_server_addr())"))

	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "others must not get to the socket")
	guess, err := pgx.ParseConfig(p.TCPConnString())
	require.NoError(t, err)
	guess.Password = "a guess"
	_, err = pgx.ConnectConfig(t.Context(), guess)
	requireCode(t, "28P01", err)

	require.NotEmpty(t, processesIn(t, dir))
	require.NoError(t, p.Close(t.Context()))
	requireGone(t, dir)
	require.NoError(t, p.Close(t.Context()), "closing again does nothing")
	_, err = p.Clone(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, p.Start(t.Context()), ErrClosed)
	require.ErrorIs(t, p.Stop(t.Context()), ErrClosed)
}

func TestSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	p := runOwn(t, WithBackend(Local), WithoutMigrations(), WithoutVector(), WithoutFsync(),
		WithSettings(map[string]string{"work_mem": "5MB", "log_line_prefix": "it's %m "}),
		WithSettings(map[string]string{"wal_level": "logical", "pgweft.custom": "yes"}))
	for name, want := range map[string]string{
		"fsync": "off", "log_line_prefix": "it's %m ", "pgweft.custom": "yes", "wal_level": "logical", "work_mem": "5MB",
	} {
		require.Equal(t, want, queryValue[string](t, p.ConnString(), "select current_setting($1)", name), name)
	}
	require.Zero(t, queryValue[int](t, p.ConnString(), "select count(*)::int from pg_extension where extname = 'vector'"))
	require.False(t, queryValue[bool](t, p.ConnString(), "select to_regnamespace('langgraph') is not null"))
}

func TestAStartThatTheServerRefusesTellsWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	var dir string
	_, err := Run(t.Context(), WithBackend(Local), WithSettings(map[string]string{"no_such_setting": "1"}),
		WithLogger(loggerThat("creating a Postgres cluster", func(r slog.Record) { dir = attribute(r, "directory") })))
	require.ErrorContains(t, err, `unrecognized configuration parameter "no_such_setting"`)
	require.NotEmpty(t, dir)
	requireGone(t, dir)
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"creating a Postgres cluster", "Postgres runs", "migrated"} {
		t.Run("when it says "+message, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var dir string
			logger := slog.New(onMessage{slog.DiscardHandler, "creating a Postgres cluster", func(r slog.Record) {
				dir = attribute(r, "directory")
			}})
			both := slog.New(tee{logger.Handler(), loggerThat(message, func(slog.Record) { cancel() }).Handler()})
			p, err := Run(ctx, WithBackend(Local), WithLogger(both))
			require.ErrorIs(t, err, context.Canceled)
			require.Nil(t, p)
			require.NotEmpty(t, dir)
			requireGone(t, dir)
		})
	}
}

func TestAServerThatGoesAway(t *testing.T) {
	t.Parallel()
	p := runOwn(t, WithBackend(Local), WithoutMigrations())
	db, err := p.Clone(t.Context())
	require.NoError(t, err)
	execute(t, db.ConnString(), "create table kept as select 42 as answer")
	connString := db.ConnString()

	for name, goAway := range map[string]func(context.Context) error{"stopped": p.Stop, "killed": p.Kill} {
		conn, err := pgx.Connect(t.Context(), connString)
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), "select pg_sleep(3600)")
			failed <- err
		}()
		require.Eventually(t, func() bool {
			return queryValue[int](t, connString, "select count(*)::int from pg_stat_activity where wait_event = 'PgSleep'") == 1
		}, patience, readyInterval)

		require.NoError(t, goAway(t.Context()), name)
		require.Error(t, <-failed, "%s in the middle of a call", name)
		require.NoError(t, goAway(t.Context()), "%s once more", name)
		_, err = pgx.Connect(t.Context(), connString)
		require.Error(t, err, name)
		require.True(t, conn.IsClosed())

		require.NoError(t, p.Start(t.Context()), name)
		require.NoError(t, p.Start(t.Context()), "started once more")
		require.Equal(t, connString, db.ConnString(), "socket and port stay the same")
		require.Equal(t, 42, queryValue[int](t, connString, "select answer from kept"), name)
	}
}

func TestAServerThatCrashedByItselfIsClosedAllTheSame(t *testing.T) {
	t.Parallel()
	p, err := Run(t.Context(), WithBackend(Local), WithoutMigrations())
	require.NoError(t, err)
	dir := clusterDir(t, p.ConnString())
	local := p.server.(*localServer)
	require.NoError(t, local.process.cmd.Process.Kill())
	<-local.process.exited
	require.NoError(t, p.Close(t.Context()))
	requireGone(t, dir)
}

func TestAnotherPortIsTakenWhereTheFirstIsNotFreeAnyMore(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	takenPort := taken.Addr().(*net.TCPAddr).Port
	var picked []int
	p := runOwn(t, WithBackend(Local), WithoutMigrations(), func(c *config) {
		c.pickPort = func(ctx context.Context) (int, error) {
			port := takenPort
			if len(picked) > 0 {
				var err error
				if port, err = freePort(ctx); err != nil {
					return 0, err
				}
			}
			picked = append(picked, port)
			return port, nil
		}
	})
	require.GreaterOrEqual(t, len(picked), 2)
	require.Equal(t, takenPort, picked[0])
	require.Equal(t, picked[len(picked)-1], queryValue[int](t, p.TCPConnString(), "select inet_server_port()"))
}

func TestTheBinariesThatWereLookedAtAreNamed(t *testing.T) {
	t.Parallel()
	empty, old := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{"initdb": "exit 0", "postgres": "echo 'postgres (PostgreSQL) 9.6.24'"} {
		require.NoError(t, os.WriteFile(filepath.Join(old, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	_, err := firstUsable(t.Context(), []string{empty, old})
	require.ErrorIs(t, err, errNoBinaries)
	require.ErrorContains(t, err, "scripts/install-postgres.sh")
	require.ErrorContains(t, err, empty+": initdb is missing")
	require.ErrorContains(t, err, old+": PostgreSQL 9 is too old")
}

// The tests below change the environment, so they do not run in parallel.

func TestBinariesThatTheEnvironmentNamesMustBeThere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(binariesVariable, dir)
	_, err := Run(t.Context(), WithBackend(Local))
	require.ErrorContains(t, err, binariesVariable+"="+dir+": initdb is missing")
}

func TestBinariesThatTheEnvironmentNamesGoBeforeDocker(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	found, err := findBinaries(t.Context())
	require.NoError(t, err)
	t.Setenv(binariesVariable, found.dir)
	require.Equal(t, Local, runOwn(t, WithoutMigrations()).Backend())
}

func TestADirectoryIsFoundWhereTheTemporaryOneCannotBeUsed(t *testing.T) {
	long := filepath.Join("/tmp", "pgweft-test-"+strings.Repeat("long", 25))
	require.NoError(t, os.Mkdir(long, 0o755))
	t.Cleanup(func() { require.NoError(t, os.Remove(long)) })
	dirs := map[string]string{"too long for a socket": long}
	if os.Geteuid() == 0 {
		dirs["closed to the server's user"] = t.TempDir()
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", dir)
			p := runOwn(t, WithBackend(Local), WithoutMigrations())
			require.Equal(t, "/tmp", filepath.Dir(clusterDir(t, p.ConnString())))
			require.Equal(t, 1, queryValue[int](t, p.ConnString(), "select 1"))
		})
	}
}

func TestADevelopersPostgresVariablesDoNotReachTheServer(t *testing.T) {
	t.Setenv("PGDATA", "/nonexistent")
	t.Setenv("PGPORT", "1")
	t.Setenv("PGDATABASE", "nonexistent")
	t.Setenv("LC_ALL", "tr_TR.UTF-8")
	p := runOwn(t, WithBackend(Local), WithoutMigrations())
	require.Equal(t, "C", queryValue[string](t, p.ConnString(), "show lc_messages"))
}

func TestARunLeavesNoFileDescriptorOpen(t *testing.T) {
	descriptors := func() []os.DirEntry {
		entries, err := os.ReadDir("/dev/fd")
		require.NoError(t, err)
		return entries
	}
	cycle := func() {
		p, err := Run(t.Context(), WithBackend(Local), WithoutMigrations())
		require.NoError(t, err)
		require.NoError(t, p.Kill(t.Context()))
		require.NoError(t, p.Start(t.Context()))
		require.NoError(t, p.Close(t.Context()))
	}
	cycle() // the runtime opens its poller at the first use
	before := len(descriptors())
	cycle()
	require.Len(t, descriptors(), before)
}

func TestProgressIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	runOwn(t, WithBackend(Local), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for _, message := range []string{"creating a Postgres cluster", "Postgres runs", "migrated"} {
		require.Contains(t, log.String(), message)
	}
}
