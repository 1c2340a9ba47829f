package testcontainers

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
)

// needDocker is the condition of the tests of the Docker path: an image that is known to be there.
func needDocker(t *testing.T) {
	t.Helper()
	if os.Getenv("PGWEFT_TEST_DOCKER_IMAGE") == "" {
		t.Skip("PGWEFT_TEST_DOCKER_IMAGE is not set: scripts/test-docker.sh starts an engine, builds an image and runs this test")
	}
}

func TestDockerServer(t *testing.T) {
	needDocker(t)
	t.Parallel()
	p, err := Run(t.Context(), WithBackend(Docker), WithSettings(map[string]string{"work_mem": "5MB"}))
	require.NoError(t, err)
	name := p.server.(*dockerServer).name
	require.True(t, containerExists(t, name))

	require.Equal(t, Docker, p.Backend())
	require.Equal(t, p.ServerVersion(), queryValue[int](t, p.ConnString(), "select current_setting('server_version_num')::int"))
	require.Equal(t, "on", queryValue[string](t, p.ConnString(), "show fsync"))
	require.Equal(t, "5MB", queryValue[string](t, p.ConnString(), "show work_mem"))
	require.Equal(t, "UTF8", queryValue[string](t, p.ConnString(), "show server_encoding"))
	require.True(t, queryValue[bool](t, p.ConnString(), "select to_regclass('langgraph.checkpoints') is not null"))
	require.Equal(t, p.ConnString(), p.TCPConnString())

	one, err := p.Clone(t.Context())
	require.NoError(t, err)
	other, err := p.Clone(t.Context())
	require.NoError(t, err)
	execute(t, one.ConnString(), "create table only_here (v vector(3))")
	require.False(t, queryValue[bool](t, other.ConnString(), "select to_regclass('only_here') is not null"))
	require.NoError(t, other.Drop(t.Context()))
	require.False(t, databaseExists(t, p, other.Name()))

	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, p.Close(t.Context()))
	require.False(t, containerExists(t, name))
}

func TestDockerIsTakenWhereAnEngineAnswers(t *testing.T) {
	needDocker(t)
	t.Setenv("DATABASE_URL", "")
	t.Setenv(binariesVariable, "")
	require.Equal(t, Docker, runOwn(t, WithoutMigrations()).Backend())
}

func TestDockerServerThatGoesAway(t *testing.T) {
	needDocker(t)
	t.Parallel()
	p := runOwn(t, WithBackend(Docker), WithoutMigrations(), WithoutFsync())
	execute(t, p.ConnString(), "create table kept as select 42 as answer")
	require.Equal(t, "off", queryValue[string](t, p.ConnString(), "show fsync"))
	for name, goAway := range map[string]func(context.Context) error{"stopped": p.Stop, "killed": p.Kill} {
		conn, err := pgx.Connect(t.Context(), p.ConnString())
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), "select pg_sleep(3600)")
			failed <- err
		}()
		require.Eventually(t, func() bool {
			return queryValue[int](t, p.ConnString(), "select count(*)::int from pg_stat_activity where wait_event = 'PgSleep'") == 1
		}, patience, readyInterval)
		require.NoError(t, goAway(t.Context()), name)
		require.Error(t, <-failed, "%s in the middle of a call", name)
		require.NoError(t, p.Start(t.Context()), name)
		require.Equal(t, 42, queryValue[int](t, p.ConnString(), "select answer from kept"), name)
	}
}

func TestDockerStartThatIsCancelledLeavesNothing(t *testing.T) {
	needDocker(t)
	t.Parallel()
	for _, message := range []string{"starting a container", "Postgres runs"} {
		ctx, cancel := context.WithCancel(t.Context())
		var name string
		named := loggerThat("starting a container", func(r slog.Record) { name = attribute(r, "name") })
		cancels := loggerThat(message, func(slog.Record) { cancel() })
		p, err := Run(ctx, WithBackend(Docker), WithLogger(slog.New(tee{named.Handler(), cancels.Handler()})))
		require.ErrorIs(t, err, context.Canceled, message)
		require.Nil(t, p)
		require.NotEmpty(t, name)
		require.False(t, containerExists(t, name), message)
	}
}

func TestDockerImageThatCannotBePulled(t *testing.T) {
	needDocker(t)
	t.Setenv("DATABASE_URL", "")
	t.Setenv(binariesVariable, "")
	const image = "127.0.0.1:1/nobody/has:this"

	_, err := Run(t.Context(), WithBackend(Docker), WithImage(image))
	require.ErrorContains(t, err, "pull image "+image)

	var log bytes.Buffer
	p := runOwn(t, WithImage(image), WithoutMigrations(), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.Equal(t, Local, p.Backend())
	require.Contains(t, log.String(), "Docker cannot be used, taking this machine's Postgres binaries")
	require.Contains(t, log.String(), image)
}

func containerExists(t *testing.T, name string) bool {
	t.Helper()
	docker, err := connectEngine(t.Context())
	require.NoError(t, err)
	defer docker.Close()
	found, err := docker.ContainerList(t.Context(), client.ContainerListOptions{
		All:     true,
		Filters: make(client.Filters).Add("name", name),
	})
	require.NoError(t, err)
	return len(found.Items) > 0
}
