package pgsaver_test

import (
	"testing"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, pgxtest.WithExecMode(mode))
			checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return pgsaver.New(pool, nil) })
		})
	}
}
