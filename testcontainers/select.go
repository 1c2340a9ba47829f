package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// startServer starts the backend that was asked for, or the first that is there.
func startServer(ctx context.Context, cfg config) (Backend, server, error) {
	backend := cfg.backend
	if backend == Auto {
		backend = chosenByEnvironment(cfg)
	}
	var srv server
	var err error
	switch backend {
	case DatabaseURL:
		srv, err = newExternalServer(cfg)
	case Docker:
		srv, err = startDocker(ctx, cfg)
	case Local:
		srv, err = startLocal(ctx, cfg)
	default:
		return startDockerElseLocal(ctx, cfg)
	}
	return backend, srv, err
}

func chosenByEnvironment(cfg config) Backend {
	switch {
	case cfg.databaseURL != "":
		return DatabaseURL
	case os.Getenv(binariesVariable) != "":
		return Local
	}
	return Auto
}

func startDockerElseLocal(ctx context.Context, cfg config) (Backend, server, error) {
	srv, dockerErr := startDocker(ctx, cfg)
	if dockerErr == nil {
		return Docker, srv, nil
	}
	if ctx.Err() != nil {
		return Docker, nil, dockerErr
	}
	if errors.Is(dockerErr, errNoEngine) {
		cfg.logger.InfoContext(ctx, "no Docker engine answers, taking this machine's Postgres binaries")
	} else {
		cfg.logger.WarnContext(ctx, "Docker cannot be used, taking this machine's Postgres binaries", "error", dockerErr)
	}
	local, err := startLocal(ctx, cfg)
	if err != nil {
		return Local, nil, errors.Join(fmt.Errorf("docker: %w", dockerErr), fmt.Errorf("local binaries: %w", err))
	}
	return Local, local, nil
}
