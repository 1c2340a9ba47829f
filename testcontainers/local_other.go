//go:build !unix

package testcontainers

import (
	"context"
	"errors"
)

func startLocal(context.Context, config) (server, error) {
	return nil, errors.New("this machine's binaries can be used on Unix systems only: start a Docker engine, or set DATABASE_URL")
}
