package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

func TestPrometheusReadsWhatSaverAndSweeperDo(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), testcontainers.NewDatabase(t).ConnString())
	require.NoError(t, err)
	defer pool.Close()
	reports := make(chan string, 1)
	logger := slog.New(slog.NewJSONHandler(channel(reports), nil))
	handler, closeHandler, err := newHandler(pool, logger)
	require.NoError(t, err)
	require.Contains(t, <-reports, `"msg":"swept","threads":0,"checkpoints":0`)

	server := httptest.NewServer(handler)
	defer server.Close()
	require.Regexp(t, "^saved 1f", get(t, server, "/save"))
	require.Regexp(t, "^saved 1f", get(t, server, "/save"))
	metrics := get(t, server, "/metrics")
	require.Regexp(t, `(?m)^db_client_operation_duration_seconds_count\{db_operation_name="put_checkpoint",`+
		`db_system_name="postgresql",.*\} 2$`, metrics)
	require.Regexp(t, `(?m)^pgweft_sweep_duration_seconds_count\{.*pgweft_sweep_outcome="done"\} 1$`, metrics)
	require.Regexp(t, `(?m)^pgweft_removed_checkpoints_total\{db_operation_name="sweep",.*\} 0$`, metrics)
	require.Regexp(t, `(?m)^pgweft_sweep_last_done_seconds\{.*\} 1\.\d+e\+09$`, metrics)
	require.NotContains(t, metrics, "thread-1")
	require.NoError(t, closeHandler(t.Context()))
}

func get(t *testing.T, server *httptest.Server, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	require.NoError(t, err)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// channel writes what it is given to a channel.
type channel chan string

func (c channel) Write(text []byte) (int, error) {
	c <- string(text)
	return len(text), nil
}
