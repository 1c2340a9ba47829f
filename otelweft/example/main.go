// Command example shows pgsaver under OpenTelemetry: metrics for Prometheus at /metrics, spans on standard error, a sweeper
// whose records are JSON lines. It saves a checkpoint whenever somebody asks for /save.
//
//	go run ./example "$DATABASE_URL"
//	curl localhost:8080/save; curl localhost:8080/metrics
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/otelweft"
	"github.com/pgweft/pgweft/pgsaver"
)

const goodbye = 5 * time.Second

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: example DATABASE_URL")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, os.Args[1]); err != nil {
		log.Print(err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func serve(ctx context.Context, databaseURL string) error {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	handler, closeHandler, err := newHandler(pool, slog.New(slog.NewJSONHandler(os.Stderr, nil))) //nolint:contextcheck // what it starts ends with closeHandler
	if err != nil {
		return err
	}
	server := &http.Server{Addr: "localhost:8080", Handler: handler, ReadHeaderTimeout: goodbye}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err = server.ListenAndServe(); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	return errors.Join(err, closeHandler(closing))
}

// newHandler connects everything: what it returns second ends it.
func newHandler(pool *pgxpool.Pool, logger *slog.Logger) (http.Handler, func(context.Context) error, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return nil, nil, err
	}
	printer, err := stdouttrace.New(stdouttrace.WithWriter(os.Stderr))
	if err != nil {
		return nil, nil, err
	}
	traces, metrics := trace.NewTracerProvider(trace.WithBatcher(printer)), metric.NewMeterProvider(metric.WithReader(reader))
	telemetry, err := otelweft.New(&otelweft.Config{TracerProvider: traces, MeterProvider: metrics})
	if err != nil {
		return nil, nil, err
	}
	plain := pgsaver.New(pool, nil)
	sweeper, err := plain.StartSweeper(time.Hour, pgsaver.SweepOptions{Logger: logger, Observe: telemetry.Sweep}, nil)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /save", save(telemetry.Saver(plain)))
	return mux, func(ctx context.Context) error {
		return errors.Join(sweeper.Close(ctx), traces.Shutdown(ctx), metrics.Shutdown(ctx))
	}, nil
}

func save(saver checkpoint.Saver) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		config, err := saver.Put(r.Context(), checkpoint.Config{ThreadID: "thread-1"}, &checkpoint.Checkpoint{
			ID:              checkpoint.NewID(0),
			ChannelValues:   map[string]any{"greeting": "Hello"},
			ChannelVersions: map[string]checkpoint.Version{"greeting": checkpoint.NextVersion(checkpoint.Version{})},
		}, checkpoint.Metadata{"source": "loop", "step": 0}, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintln(w, "saved", config.CheckpointID)
	}
}
