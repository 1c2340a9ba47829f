// Package periodic runs something at intervals, in a goroutine of its own, until it is closed.
package periodic

import (
	"context"
	"sync"
	"time"
)

// Runner is a goroutine started by Start.
type Runner struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex
	err error
}

// Start calls run at once and then every interval, which has to be positive. An error does not end it; onError, if it is
// not nil, hears of it, in the Runner's goroutine.
func Start(interval time.Duration, run func(context.Context) error, onError func(error)) *Runner {
	ctx, cancel := context.WithCancel(context.Background())
	runner := &Runner{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(runner.done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				runner.fail(err)
				if onError != nil {
					onError(err)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return runner
}

func (r *Runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Err is the error of the newest run that failed; nil when none has.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close cancels a run that is under way, and waits until it has ended or ctx has.
func (r *Runner) Close(ctx context.Context) error {
	r.cancel()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
