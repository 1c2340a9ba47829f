package otelweft

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/pgweft/pgweft/checkpoint"
)

// everything can do everything, and says what it was asked to do last.
type everything struct {
	checkpoint.Saver
	asked string
}

func (e *everything) DeleteForRuns(context.Context, []string) ([]checkpoint.Removed, error) {
	e.asked = "runs"
	return nil, nil
}

func (e *everything) CopyThread(context.Context, string, string) error {
	e.asked = "copy"
	return nil
}

func (e *everything) Prune(context.Context, []string, checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
	e.asked = "prune"
	return nil, nil
}

func (e *everything) DeltaHistory(context.Context, checkpoint.Config, []string) (map[string]checkpoint.DeltaHistory, error) {
	e.asked = "history"
	return nil, nil
}

func (e *everything) Fork(context.Context, checkpoint.Config, checkpoint.ForkOptions) (checkpoint.Config, error) {
	e.asked = "fork"
	return checkpoint.Config{}, nil
}

func (e *everything) PutStep(context.Context, checkpoint.Config, *checkpoint.Checkpoint, checkpoint.Metadata,
	map[string]checkpoint.Version, []checkpoint.Write,
) (checkpoint.Config, error) {
	e.asked = "step"
	return checkpoint.Config{}, nil
}

// capabilities are what can be asked of a saver beyond a Saver: each asks for one, and says whether the saver has it.
var capabilities = []struct {
	name string
	ask  func(context.Context, checkpoint.Saver) bool
}{
	{"runs", func(ctx context.Context, s checkpoint.Saver) bool {
		can, ok := s.(checkpoint.RunDeleter)
		if ok {
			_, _ = can.DeleteForRuns(ctx, nil)
		}
		return ok
	}},
	{"copy", func(ctx context.Context, s checkpoint.Saver) bool {
		can, ok := s.(checkpoint.ThreadCopier)
		if ok {
			_ = can.CopyThread(ctx, "", "")
		}
		return ok
	}},
	{"prune", func(ctx context.Context, s checkpoint.Saver) bool {
		can, ok := s.(checkpoint.Pruner)
		if ok {
			_, _ = can.Prune(ctx, nil, checkpoint.PruneOptions{})
		}
		return ok
	}},
	{"history", func(ctx context.Context, s checkpoint.Saver) bool {
		can, ok := s.(checkpoint.DeltaHistorian)
		if ok {
			_, _ = can.DeltaHistory(ctx, checkpoint.Config{}, nil)
		}
		return ok
	}},
	{"fork", func(ctx context.Context, s checkpoint.Saver) bool {
		can, ok := s.(checkpoint.Forker)
		if ok {
			_, _ = can.Fork(ctx, checkpoint.Config{}, checkpoint.ForkOptions{})
		}
		return ok
	}},
	{"step", func(ctx context.Context, s checkpoint.Saver) bool {
		can, ok := s.(checkpoint.StepPutter)
		if ok {
			_, _ = can.PutStep(ctx, checkpoint.Config{}, nil, nil, nil, nil)
		}
		return ok
	}},
}

func TestAWrappedSaverCanDoExactlyWhatItCouldBefore(t *testing.T) {
	t.Parallel()
	telemetry, err := New(&Config{MeterProvider: noop.NewMeterProvider()})
	require.NoError(t, err)
	for which := range 1 << len(capabilities) {
		t.Run(fmt.Sprintf("%06b", which), func(t *testing.T) {
			t.Parallel()
			inner := &everything{}
			var e extensions
			for i, give := range []func(){
				func() { e.runDeleter = inner }, func() { e.threadCopier = inner }, func() { e.pruner = inner },
				func() { e.deltaHistorian = inner }, func() { e.forker = inner }, func() { e.stepPutter = inner },
			} {
				if which&(1<<i) != 0 {
					give()
				}
			}
			// What combine makes has some capabilities, so it is also a saver to wrap.
			some := combine(&saver{telemetry: telemetry, next: inner}, e)
			for _, wrapped := range []checkpoint.Saver{some, telemetry.Saver(some)} {
				for i, capability := range capabilities {
					inner.asked = ""
					has := which&(1<<i) != 0
					require.Equal(t, has, capability.ask(t.Context(), wrapped), capability.name)
					if has {
						require.Equal(t, capability.name, inner.asked)
					}
				}
			}
		})
	}
}
