package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"sync"
)

// asyncMode saves in one goroutine, in the order in which jobs come into the queue.
type asyncMode struct {
	saver Saver
	// slots bound the queue: whoever puts a job into it has taken one, which the goroutine gives back once the job is done.
	slots chan struct{}
	// wake has an element when the queue may have a job or be closed.
	wake chan struct{}
	// closing is closed by close, and ended when the goroutine has ended.
	closing, ended chan struct{}
	// ctx ends when close gives up.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	queue  []job
	closed bool
	err    error
}

// job saves something, or only marks a place in the queue.
type job struct {
	ctx     context.Context
	what    string
	save    func(context.Context) error
	reached chan struct{}
}

func newAsyncMode(saver Saver, size int) *asyncMode {
	m := &asyncMode{
		saver: saver, slots: make(chan struct{}, size), wake: make(chan struct{}, 1),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	go m.work()
	return m
}

func (m *asyncMode) put(ctx context.Context, config Config, cp *Checkpoint, metadata Metadata,
	newVersions map[string]Version,
) (Config, error) {
	cp, err := copyCheckpoint(cp)
	if err != nil {
		return Config{}, err
	}
	metadata, err = copyMetadata(metadata)
	if err != nil {
		return Config{}, err
	}
	newVersions = maps.Clone(newVersions)
	saved := config
	saved.CheckpointID = cp.ID
	return saved, m.enqueue(job{
		ctx: ctx, what: "checkpoint " + cp.ID,
		save: func(ctx context.Context) error {
			_, err := m.saver.Put(ctx, config, cp, metadata, newVersions)
			return err
		},
	})
}

func (m *asyncMode) putWrites(ctx context.Context, config Config, writes []Write, taskID, taskPath string) error {
	writes, err := copyWrites(writes)
	if err != nil {
		return err
	}
	return m.enqueue(job{
		ctx: ctx, what: fmt.Sprintf("writes of task %s of checkpoint %s", taskID, config.CheckpointID),
		save: func(ctx context.Context) error { return m.saver.PutWrites(ctx, config, writes, taskID, taskPath) },
	})
}

func (m *asyncMode) enqueue(j job) error {
	if err := m.failure(); err != nil {
		return err
	}
	select {
	case m.slots <- struct{}{}:
	case <-j.ctx.Done():
		return fmt.Errorf("%s waits for room in the writer's queue: %w", j.what, j.ctx.Err())
	case <-m.closing:
		return ErrWriterClosed
	}
	if err := m.append(j); err != nil {
		<-m.slots
		return err
	}
	return nil
}

func (m *asyncMode) append(j job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil:
		return m.err
	case m.closed:
		return ErrWriterClosed
	}
	m.queue = append(m.queue, j)
	m.notify()
	return nil
}

func (m *asyncMode) notify() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *asyncMode) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

func (m *asyncMode) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

func (m *asyncMode) work() {
	defer close(m.ended)
	defer m.cancel()
	for {
		j, ok := m.next()
		if !ok {
			return
		}
		if j.reached != nil {
			close(j.reached)
			continue
		}
		m.run(j)
		<-m.slots
	}
}

// next waits for a job; false when the queue is closed and empty.
func (m *asyncMode) next() (job, bool) {
	for {
		m.mu.Lock()
		if len(m.queue) > 0 {
			j := m.queue[0]
			m.queue[0] = job{}
			m.queue = m.queue[1:]
			m.mu.Unlock()
			return j, true
		}
		closed := m.closed
		m.mu.Unlock()
		if closed {
			return job{}, false
		}
		<-m.wake
	}
}

// run saves unless something before was not: then whoever waits for room gets it at once, and the error. The caller's
// context may have ended long ago; its values count.
func (m *asyncMode) run(j job) {
	if m.failure() != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(j.ctx))
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	if err := j.save(ctx); err != nil {
		m.fail(fmt.Errorf("saving %s in the background: %w", j.what, err))
	}
}

func (m *asyncMode) flush(ctx context.Context) error {
	mark := job{reached: make(chan struct{})}
	if err := m.append(mark); err != nil {
		return err
	}
	select {
	case <-mark.reached:
		return m.failure()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the writer's queue: %w", ctx.Err())
	}
}

func (m *asyncMode) close(ctx context.Context) error {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.closing)
	}
	m.notify()
	m.mu.Unlock()
	select {
	case <-m.ended:
		return m.failure()
	default:
	}
	select {
	case <-m.ended:
		return m.failure()
	case <-ctx.Done():
		err := fmt.Errorf("closing the writer before all was saved: %w", ctx.Err())
		m.fail(err)
		m.cancel()
		return err
	}
}
