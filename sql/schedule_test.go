package sql_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgcrontest"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/testcontainers"
)

// cronDatabase is where pg_cron lives unless cron.database_name says otherwise.
const cronDatabase = "postgres"

// cronServer is a server of the test's own that loads pg_cron.
type cronServer struct{ *testcontainers.Postgres }

// startCron starts a server with pg_cron loaded, and the schema in pg_cron's database, but not the extension.
func startCron(t *testing.T) cronServer {
	t.Helper()
	p := pgcrontest.Start(t, nil, testcontainers.WithoutFsync())
	s := cronServer{p}
	m, err := migrations.New(s.config(t, cronDatabase), &migrations.Config{Schema: "langgraph"})
	require.NoError(t, err)
	require.NoError(t, m.Up(t.Context()))
	return s
}

func (s cronServer) config(t *testing.T, database string) *pgx.ConnConfig {
	t.Helper()
	u, err := url.Parse(s.ConnString())
	require.NoError(t, err)
	u.Path = "/" + database
	config, err := pgx.ParseConfig(u.String())
	require.NoError(t, err)
	return config
}

func (s cronServer) connect(t *testing.T, config *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	return conn
}

func (s cronServer) restart(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Start(t.Context()))
}

// login is a role that may log in and is one of the operators.
func login(t *testing.T, db querier, name string) {
	t.Helper()
	exec(t, db, "create role "+name+" login password 'secret'")
	exec(t, db, "grant langgraph_ops to "+name)
}

func (s cronServer) as(t *testing.T, role string) *pgx.ConnConfig {
	t.Helper()
	config := s.config(t, cronDatabase)
	config.User, config.Password = role, "secret"
	return config
}

func TestPgCronSweeps(t *testing.T) {
	t.Parallel()
	s := startCron(t)
	owner := s.connect(t, s.config(t, cronDatabase))
	exec(t, owner, "select langgraph.grant_roles()")
	login(t, owner, "nightly")

	t.Run("there is a hint where the extension was not created", func(t *testing.T) {
		requireRefused(t, refusal{"LG004", "pg_cron is not in this database", "extension pg_cron", "Run: create extension pg_cron."},
			attempt(t.Context(), owner, "select langgraph.schedule_sweep()"))
		require.False(t, value[bool](t, owner, "select langgraph.unschedule_sweep()"))
	})
	exec(t, owner, "create extension pg_cron")

	t.Run("the right to use it is asked for", func(t *testing.T) {
		conn := s.connect(t, s.as(t, "nightly"))
		requireRefused(t, refusal{"42501", "permission denied for schema cron", `Role nightly`, "grant usage on schema cron to nightly."},
			attempt(t.Context(), conn, "select langgraph.schedule_sweep()"))
		require.Equal(t, 0, value[int](t, conn, "select count(*) from langgraph.sweep_job()"))
	})
	exec(t, owner, "grant usage on schema cron to nightly")

	t.Run("a schedule is replaced, and ended", func(t *testing.T) {
		conn := s.connect(t, s.as(t, "nightly"))
		jobs := func() []string {
			return column[string](t, conn, "select concat_ws(' | ', jobname, schedule, command, database, username) from cron.job")
		}
		require.Positive(t, value[int64](t, conn, "select langgraph.schedule_sweep()"))
		require.Equal(t, []string{"sweep langgraph | 17 3 * * * | call langgraph.sweep(100) | postgres | nightly"}, jobs())
		job := value[int64](t, conn, "select langgraph.schedule_sweep('*/5 * * * *', 7, '90 seconds')")
		require.Equal(t, []string{"sweep langgraph | */5 * * * * | call langgraph.sweep(7, '00:01:30') | postgres | nightly"}, jobs())
		require.Equal(t, job, value[int64](t, owner, "select job_id from langgraph.sweep_job()"), "a superuser sees it as well")
		require.Equal(t, []diagnosis{{
			"note", "retention", "pg_cron job 2", `It sweeps at "*/5 * * * *", as nightly; it has not run yet.`,
			"select * from cron.job_run_details where jobid = 2 order by runid desc;",
		}}, jobDiagnoses(t, conn))
		require.True(t, value[bool](t, owner, "select langgraph.unschedule_sweep()"))
		require.Empty(t, jobs())
		require.False(t, value[bool](t, conn, "select langgraph.unschedule_sweep()"))
	})

	t.Run("what cannot be scheduled is refused, and the schedule stays", func(t *testing.T) {
		conn := s.connect(t, s.as(t, "nightly"))
		job := value[int64](t, conn, "select langgraph.schedule_sweep('1 2 * * *')")
		require.ErrorContains(t, attempt(t.Context(), conn, "select langgraph.schedule_sweep('at night')"), "invalid schedule: at night")
		for _, arguments := range []string{"null", "'1 2 * * *', 0", "'1 2 * * *', null", "'1 2 * * *', 1, '-1 second'"} {
			requireRefused(t, refusal{"LG002", "invalid sweep", "schedule", "at least 1"},
				attempt(t.Context(), conn, "select langgraph.schedule_sweep("+arguments+")"))
		}
		require.Equal(t, job, value[int64](t, conn, "select job_id from langgraph.sweep_job()"))
	})

	t.Run("another database of the server is told what to run where", func(t *testing.T) {
		elsewhere := s.connect(t, s.config(t, s.database(t)))
		name := value[string](t, elsewhere, "select current_database()")
		command := "select cron.schedule_in_database('sweep langgraph of " + name + "', '0 4 * * *', 'call langgraph.sweep(100)', '" + name + "')"
		requireRefused(t, refusal{"LG004", "pg_cron is not in this database", "pg_cron", "In database postgres, where pg_cron is, run: " + command},
			attempt(t.Context(), elsewhere, "select langgraph.schedule_sweep('0 4 * * *')"))
		exec(t, owner, command)
		require.Equal(t, name, value[string](t, owner, "select database from cron.job where jobname like '% of %'"))
	})

	t.Run("who sees no tenant's data does not sweep", func(t *testing.T) {
		exec(t, owner, "select langgraph.enable_tenancy('setting')")
		exec(t, owner, "create role weak login password 'secret'; grant usage on schema langgraph, cron to weak; "+
			"grant select on all tables in schema langgraph to weak; grant execute on all routines in schema langgraph to weak")
		requireRefused(t, refusal{"LG002", "invalid role", "weak", "langgraph_ops"},
			attempt(t.Context(), s.connect(t, s.as(t, "weak")), "select langgraph.schedule_sweep()"))
		require.Positive(t, value[int64](t, s.connect(t, s.as(t, "nightly")), "select langgraph.schedule_sweep()"))
		exec(t, owner, "select langgraph.disable_tenancy()")
	})
}

// database is the migrated database that is not pg_cron's.
func (s cronServer) database(t *testing.T) string {
	t.Helper()
	config, err := pgx.ParseConfig(s.ConnString())
	require.NoError(t, err)
	return config.Database
}

// A schedule of "@reboot" is due when the server has started, which a test need not wait a minute for.
func TestPgCronSweepsInEitherOfItsModes(t *testing.T) {
	t.Parallel()
	s := startCron(t)
	for name, background := range map[string]string{"as background workers": "on", "as clients": "off"} {
		t.Run(name, func(t *testing.T) {
			before := s.connect(t, s.config(t, cronDatabase))
			exec(t, before, "create extension if not exists pg_cron")
			// As clients they need to be let in: the socket is for whoever gets there.
			exec(t, before, "alter system set cron.use_background_workers = "+background)
			sockets := value[string](t, before, "select split_part(current_setting('unix_socket_directories'), ',', 1)")
			exec(t, before, "alter system set cron.host = '"+sockets+"'")
			exec(t, before, `
				insert into langgraph.store (prefix, key, value, expires_at) values ('p', 'k', '{}', now() - interval '1 hour');
				delete from langgraph.settings where key = 'sweep'`)
			job := value[int64](t, before, "select langgraph.schedule_sweep('@reboot')")
			s.restart(t)

			after := s.connect(t, s.config(t, cronDatabase))
			require.Equal(t, background, value[string](t, after, "show cron.use_background_workers"))
			awaitSweep(t, after)
			require.Equal(t, 0, value[int](t, after, "select count(*) from langgraph.store"))
			require.Equal(t, "1", value[string](t, after, "select value ->> 'store_items' from langgraph.settings where key = 'sweep'"))
			require.Equal(t, job, value[int64](t, after, "select job_id from langgraph.sweep_job()"))
			exec(t, after, "select langgraph.unschedule_sweep()")
		})
	}
}

// awaitSweep returns when a sweep has committed its end.
func awaitSweep(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	exec(t, conn, "listen swept")
	exec(t, conn, `
		create or replace function public.tell() returns trigger language plpgsql as $$ begin notify swept; return null; end $$;
		create or replace trigger tell after insert or update on langgraph.settings execute function public.tell()`)
	for !value[bool](t, conn, "select exists (select from langgraph.settings where key = 'sweep' and (value ->> 'done')::boolean)") {
		_, err := conn.WaitForNotification(ctx)
		require.NoError(t, err, "pg_cron did not sweep")
	}
}

func TestTheDoctorWatchesOverTheSchedule(t *testing.T) {
	t.Parallel()
	s := startCron(t)
	conn := s.connect(t, s.config(t, cronDatabase))
	exec(t, conn, "create extension pg_cron")
	job := value[int64](t, conn, "select langgraph.schedule_sweep()")
	const detail = "select * from cron.job_run_details where jobid = 1 order by runid desc;"
	run := func(status, message string) {
		exec(t, conn, `insert into cron.job_run_details (jobid, runid, status, return_message, start_time)
			values ($1, nextval('cron.runid_seq'), $2, $3, '2026-01-02 03:17:00+00')`, job, status, message)
	}
	exec(t, conn, "set timezone = 'UTC'")
	run("succeeded", "CALL")
	require.Equal(t, []diagnosis{{
		"note", "retention", "pg_cron job 1", `It sweeps at "17 3 * * *", as postgres; its last run, at 2026-01-02 03:17:00+00, succeeded.`, detail,
	}}, jobDiagnoses(t, conn))
	run("failed", "ERROR: canceling statement due to statement timeout\n")
	require.Equal(t, []diagnosis{{
		"problem", "retention", "pg_cron job 1", `It sweeps at "17 3 * * *", as postgres; its last run, at 2026-01-02 03:17:00+00, failed: ` +
			"ERROR: canceling statement due to statement timeout", detail,
	}}, jobDiagnoses(t, conn))
	exec(t, conn, "select cron.alter_job($1, active => false)", job)
	off := jobDiagnoses(t, conn)
	require.Equal(t, []diagnosis{{
		"problem", "retention", "pg_cron job 1", `It sweeps at "17 3 * * *", and is switched off.`,
		"As postgres: select langgraph.schedule_sweep('17 3 * * *');",
	}}, off)
	exec(t, conn, "select langgraph.schedule_sweep('17 3 * * *')")
	require.Equal(t, "note", jobDiagnoses(t, conn)[0].Level, "the remedy mends it")
}

// jobDiagnoses are what the doctor says about pg_cron's job.
func jobDiagnoses(t *testing.T, db querier) []diagnosis {
	t.Helper()
	return table[diagnosis](t, db, "select * from langgraph.doctor() where subject like 'pg_cron job%'")
}
