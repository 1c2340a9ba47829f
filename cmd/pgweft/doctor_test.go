package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/internal/pgbouncertest"
	"github.com/pgweft/pgweft/testcontainers"
)

func diagnoses(t *testing.T, sh shell) []diagnosis {
	t.Helper()
	var found []diagnosis
	require.NoError(t, json.Unmarshal([]byte(sh.run("doctor", "--json").stdout), &found))
	return found
}

func about(found []diagnosis, topic string) []diagnosis {
	var some []diagnosis
	for _, d := range found {
		if d.Topic == topic {
			some = append(some, d)
		}
	}
	return some
}

func TestDoctorNamesWhatIsWrongWithItsRemedy(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	require.Empty(t, about(diagnoses(t, sh), "drift"))
	require.Empty(t, about(diagnoses(t, sh), "pooler"))

	d.exec("drop index langgraph.store_expires_at_idx")
	d.exec("create table langgraph.mine (id int)")
	drift := about(diagnoses(t, sh), "drift")
	require.Equal(t, []diagnosis{
		{"problem", "drift", "index store_expires_at_idx of table langgraph.store", "It is missing, compared with what was shipped.", "migrate verify --schema langgraph shows the difference, migrate print what it should be."},
		{"note", "drift", "table langgraph.mine", "It is extra, compared with what was shipped.", "migrate verify --schema langgraph shows the difference, migrate print what it should be."},
	}, drift)

	got := sh.run("doctor")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Regexp(t, `(?m)^problem  drift .*index store_expires_at_idx of table langgraph\.store: It is missing`, got.stdout)
	require.Regexp(t, `pgweft: \d+ problems? found`, got.stderr)
	levels := []string{}
	for _, f := range diagnoses(t, sh) {
		require.NotEmpty(t, f.Remedy, f.Subject)
		levels = append(levels, f.Level)
	}
	require.Equal(t, "problem", levels[0], "problems come first")
	require.Equal(t, "note", levels[len(levels)-1])
}

func TestDoctorOfASchemaThatIsNotThereSaysHowToInstallIt(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	sh.env["PGWEFT_SCHEMA"] = "nowhere"
	found := diagnoses(t, sh)
	require.Len(t, found, 1)
	require.Equal(t, "version", found[0].Topic)
	require.Equal(t, "migrate up --schema nowhere", found[0].Remedy)
	require.Equal(t, cli.ExitFailed, sh.run("doctor").code)

	delete(sh.env, "PGWEFT_SCHEMA")
	d.exec("update langgraph.schema_migrations set version = 3")
	found = diagnoses(t, sh)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Detail, "schema is outdated")
}

func TestDoctorSeesAPoolerAndItsMode(t *testing.T) {
	t.Parallel()
	for mode, subject := range map[string]string{"transaction": "transaction", "session": "session"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := testcontainers.NewDatabase(t)
			pooler := pgbouncertest.Start(t, db.TCPConnString(), map[string]string{"pool_mode": mode})
			sh := shell{t: t, env: map[string]string{"DATABASE_URL": pooler.ConnString(db.Name())}}
			found := about(diagnoses(t, sh), "pooler")
			require.Len(t, found, 1)
			require.Equal(t, subject, found[0].Subject)
		})
	}
}

// hearer calls back for each line that holds a text, with how many there were.
type hearer struct {
	mu   sync.Mutex
	text string
	n    int
	hear func(n int)
}

func (h *hearer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.Contains(string(p), h.text) {
		h.n++
		h.hear(h.n)
	}
	return len(p), nil
}

// serve runs "sweep --every" until it is told to stop.
func serve(ctx context.Context, dsn string, stdout, stderr *hearer, args ...string) int {
	return run(ctx, append([]string{"sweep", "--every"}, args...), environment{
		Environment: cli.Environment{
			Getenv:      func(name string) string { return map[string]string{"DATABASE_URL": dsn}[name] },
			Interactive: func() bool { return false },
			Columns:     func() int { return 0 },
			Stdin:       strings.NewReader(""),
			Stdout:      stdout,
			Stderr:      stderr,
		},
		now:      time.Now,
		patience: time.Hour,
	})
}

func TestSweepEverySweepsUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	swept := &hearer{text: "looked at", hear: func(n int) {
		if n == 3 {
			stop()
		}
	}}
	require.Equal(t, cli.ExitOK, serve(ctx, sh.env["DATABASE_URL"], swept, &hearer{text: "\x00"}, "10 milliseconds"))
	require.Equal(t, 3, swept.n)
	require.Equal(t, 1, d.count("settings", "key = 'sweep'"))
}

func TestSweepEveryTriesAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.exec("alter procedure langgraph.sweep rename to no_sweep")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failed := &hearer{text: "sweep failed, the next one is in 1 millisecond: ", hear: func(n int) {
		if n == 1 {
			d.exec("alter procedure langgraph.no_sweep rename to sweep")
		}
	}}
	swept := &hearer{text: "looked at", hear: func(int) { stop() }}
	require.Equal(t, cli.ExitOK, serve(ctx, sh.env["DATABASE_URL"], swept, failed, "1 millisecond"))
	require.Equal(t, 1, swept.n)
	require.Equal(t, 1, failed.n)
}

func TestSweepEveryRefusesWhatIsNoPause(t *testing.T) {
	t.Parallel()
	sh, _ := newShell(t)
	for every, want := range map[string]string{
		"0 seconds": "more than nothing", "-1 hour": "more than nothing", "30 years": "at most ten years", "soon": "invalid input syntax for type interval",
	} {
		require.Contains(t, sh.fails(cli.ExitUsage, "sweep", "--every", every), want)
	}
	require.Contains(t, sh.fails(cli.ExitUsage, "sweep", "--every", "1 hour", "--dry-run"), "leave out --every")
}

func TestDoctorRunsForOperators(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	role := fmt.Sprintf("doctor_%d", time.Now().UnixNano())
	d.exec("create role " + role + " login superuser password 'x'")
	t.Cleanup(func() {
		_, err := d.conn.Exec(context.WithoutCancel(t.Context()), "drop owned by "+role+"; drop role "+role)
		require.NoError(t, err)
	})
	d.exec("alter role " + role + " nosuperuser")
	d.exec("grant usage on schema langgraph, langgraph_analytics to " + role)
	d.exec("grant select on all tables in schema langgraph to " + role)
	d.exec("grant execute on all routines in schema langgraph to " + role)
	config, err := pgx.ParseConfig(sh.env["DATABASE_URL"])
	require.NoError(t, err)
	sh.env["DATABASE_URL"] = fmt.Sprintf("host=%s port=%d user=%s password=x dbname=%s", config.Host, config.Port, role, config.Database)
	drift := about(diagnoses(t, sh), "drift")
	require.Len(t, drift, 1)
	require.Equal(t, "note", drift[0].Level)
	require.Contains(t, drift[0].Detail, "grant create on database")
}
