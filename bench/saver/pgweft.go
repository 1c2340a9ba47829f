package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

// maxConnections is what a pool opens.
const maxConnections = 8

func newPool(ctx context.Context, databaseURL string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = maxConnections
	config.MaxConnLifetime, config.MaxConnIdleTime = time.Hour, time.Hour // a connection that ends takes its counters with it
	config.ConnConfig.RuntimeParams["application_name"] = "bench/saver"
	return pgxpool.NewWithConfig(ctx, config)
}

const pgweftName = "pgweft"

// pgweftSide is the saver and the store that are measured.
type pgweftSide struct {
	goSide
	saver *pgsaver.Saver
	store *pgstore.Store // without an index
	found *pgstore.Store // with one
}

func newPgweft(ctx context.Context, watched *server, p payloads) (*pgweftSide, error) {
	pool, err := newPool(ctx, watched.url)
	if err != nil {
		return nil, err
	}
	s := &pgweftSide{
		saver: pgsaver.New(pool, nil), store: pgstore.New(pool, nil),
		found: pgstore.New(pool, &pgstore.Config{Index: index}),
	}
	s.goSide = goSide{id: pgweftName, title: "pgweft (pgsaver, pgstore)", watched: watched, pool: pool, payloads: p}
	s.prepare = map[string]func(context.Context, operation, string, []int) ([][]call, error){
		put: s.put, putWrites: s.putWrites, get: s.get, getByID: s.get, list: s.list, deltaHistory: s.deltaHistory,
		fork: s.fork, copyThread: s.copyThread, prune: s.prune, sweep: s.sweep,
		storePut: s.storePut, storeGet: s.storeGet, storeSearch: s.storeSearch, storeBatch: s.storeBatch,
	}
	return s, nil
}

// newCheckpoint is the checkpoint with this number of a thread: every channel has a version of its own.
func newCheckpoint(b *body, number int) (*checkpoint.Checkpoint, checkpoint.Metadata) {
	versions := make(map[string]checkpoint.Version, len(b.values))
	version := checkpoint.StringVersion(versionText(number))
	seen := map[string]checkpoint.Version{}
	for channel := range b.values {
		versions[channel], seen[channel] = version, version
	}
	cp := &checkpoint.Checkpoint{
		ID: checkpoint.NewID(number), TS: time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00"), ChannelValues: b.values,
		ChannelVersions: versions, VersionsSeen: map[string]map[string]checkpoint.Version{"agent": seen},
		UpdatedChannels: sortedKeys(b.values),
	}
	return cp, checkpoint.Metadata{"source": "loop", "step": number, "parents": map[string]any{}}
}

// versionText is a version as LangGraph makes them.
func versionText(number int) string { return fmt.Sprintf("%032d.%016d", number+1, number) }

func (s *pgweftSide) put(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	parents := make([]checkpoint.Config, len(counts))
	return each(counts, func(worker, i int) call {
		parents[worker].ThreadID = fmt.Sprintf("%s-%d", fresh, worker)
		cp, metadata := newCheckpoint(s.payloads.of(op.Payload, i), i)
		return call{do: func(ctx context.Context) (err error) {
			parents[worker], err = s.saver.Put(ctx, parents[worker], cp, metadata, nil)
			return err
		}}
	}), nil
}

func (s *pgweftSide) putWrites(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	var writes []checkpoint.Write
	for _, w := range s.payloads.writes(op.Payload, op.Writes) {
		writes = append(writes, checkpoint.Write{Channel: w.channel, Value: w.value})
	}
	return each(counts, func(worker, i int) call {
		config := checkpoint.Config{ThreadID: fmt.Sprintf("%s-%d", fresh, worker), CheckpointID: checkpoint.NewID(i)}
		return call{do: func(ctx context.Context) error {
			return s.saver.PutWrites(ctx, config, writes, taskID(i), "~__pregel_pull, agent")
		}}
	}), nil
}

func taskID(number int) string { return fmt.Sprintf("%08x-0000-5000-8000-%012x", number, number) }

func (s *pgweftSide) get(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	config := checkpoint.Config{ThreadID: op.Thread}
	number := op.Checkpoints - 1
	if op.Name == getByID {
		number = op.Checkpoints / 2
		config.CheckpointID = checkpointID(number)
	}
	expected := s.payloads.of(op.Payload, number)
	return each(counts, func(int, int) call {
		var tuple *checkpoint.Tuple
		return call{
			do: func(ctx context.Context) (err error) {
				tuple, err = s.saver.Get(ctx, config)
				return err
			},
			check: func() error { return expected.check(tuple.Checkpoint.ChannelValues) },
		}
	}), nil
}

func (s *pgweftSide) list(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(int, int) call {
		var tuples []*checkpoint.Tuple
		return call{
			do: func(ctx context.Context) error {
				tuples = make([]*checkpoint.Tuple, 0, op.Limit)
				for tuple, err := range s.saver.List(ctx, checkpoint.Config{ThreadID: op.Thread}, checkpoint.ListOptions{Limit: op.Limit}) {
					if err != nil {
						return err
					}
					tuples = append(tuples, tuple)
				}
				return nil
			},
			check: func() error {
				states := make([]map[string]any, len(tuples))
				for i, tuple := range tuples {
					states[i] = tuple.Checkpoint.ChannelValues
				}
				tuples = nil
				return s.payloads.checkList(op, states)
			},
		}
	}), nil
}

// checkList compares the newest states of a thread with what was written, newest first.
func (p payloads) checkList(op operation, states []map[string]any) error {
	if wanted := min(op.Limit, op.Checkpoints); len(states) != wanted {
		return fmt.Errorf("%w: %d checkpoints, not %d", errRead, len(states), wanted)
	}
	for i, values := range states {
		if err := p.of(op.Payload, op.Checkpoints-1-i).check(values); err != nil {
			return err
		}
	}
	return nil
}

func (s *pgweftSide) deltaHistory(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(int, int) call {
		var history checkpoint.DeltaHistory
		return call{
			do: func(ctx context.Context) error {
				histories, err := s.saver.DeltaHistory(ctx, checkpoint.Config{ThreadID: op.Thread}, []string{deltaChannel})
				history = histories[deltaChannel]
				return err
			},
			check: func() error {
				values := make([]any, len(history.Writes))
				for i, w := range history.Writes {
					values[i] = w.Value
				}
				if !history.HasSeed {
					return fmt.Errorf("%w: the history has no seed", errRead)
				}
				return checkHistory(op, values)
			},
		}
	}), nil
}

// fork branches off the middle of a copy of the thread, which all rounds share.
func (s *pgweftSide) fork(ctx context.Context, op operation, _ string, counts []int) ([][]call, error) {
	config := checkpoint.Config{ThreadID: "forked-" + op.Thread, CheckpointID: checkpointID(op.Checkpoints / 2)}
	_, err := s.saver.Get(ctx, config)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = s.saver.CopyThread(ctx, op.Thread, config.ThreadID)
	}
	if err != nil {
		return nil, err
	}
	return each(counts, func(int, int) call {
		var forked checkpoint.Config
		return call{
			do: func(ctx context.Context) (err error) {
				forked, err = s.saver.Fork(ctx, config, checkpoint.ForkOptions{})
				return err
			},
			check: func() error {
				if forked.CheckpointID <= config.CheckpointID {
					return fmt.Errorf("%w: the fork of %s is %q", errRead, config.CheckpointID, forked.CheckpointID)
				}
				return nil
			},
		}
	}), nil
}

func (s *pgweftSide) copyThread(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		target := fmt.Sprintf("%s-%d-%d", fresh, worker, i)
		return call{do: func(ctx context.Context) error { return s.saver.CopyThread(ctx, op.Thread, target) }}
	}), nil
}

// prune prunes copies of the thread to their newest checkpoint.
func (s *pgweftSide) prune(ctx context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	targets, err := copies(fresh, counts, func(target string) error { return s.saver.CopyThread(ctx, op.Thread, target) })
	if err != nil {
		return nil, err
	}
	return each(counts, func(worker, i int) call {
		var removed []checkpoint.Removed
		return call{
			do: func(ctx context.Context) (err error) {
				removed, err = s.saver.Prune(ctx, []string{targets[worker][i]}, checkpoint.PruneOptions{})
				return err
			},
			check: func() error {
				if wanted := int64(op.Checkpoints - 1); len(removed) != 1 || removed[0].Checkpoints != wanted {
					return fmt.Errorf("pruning %s removed %v, not %d checkpoints", targets[worker][i], removed, wanted)
				}
				return nil
			},
		}
	}), nil
}

func copies(fresh string, counts []int, copyTo func(target string) error) ([][]string, error) {
	targets := make([][]string, len(counts))
	for worker, count := range counts {
		for i := range count {
			target := fmt.Sprintf("%s-%d-%d", fresh, worker, i)
			if err := copyTo(target); err != nil {
				return nil, fmt.Errorf("make thread %s: %w", target, err)
			}
			targets[worker] = append(targets[worker], target)
		}
	}
	return targets, nil
}

// sweptThreads are how many threads a sweep finds idle.
const sweptThreads = 10

// sweep removes copies of the thread that have had their time; the rest of the database, which it looks at, has nothing to
// remove. A call does all of it, so that a round has only one.
func (s *pgweftSide) sweep(ctx context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	if len(counts) != 1 || counts[0] != 1 {
		return nil, fmt.Errorf("a round of sweep has one call, not %v", counts)
	}
	_, err := copies(fresh, []int{sweptThreads}, func(target string) error {
		if err := s.saver.CopyThread(ctx, op.Thread, target); err != nil {
			return err
		}
		return s.saver.SetThreadTTL(ctx, target, time.Microsecond)
	})
	if err != nil {
		return nil, err
	}
	return each(counts, func(int, int) call {
		return call{
			do: func(ctx context.Context) error { return s.saver.Sweep(ctx, pgsaver.SweepOptions{}) },
			check: func() error {
				for i := range sweptThreads {
					_, err := s.saver.Get(ctx, checkpoint.Config{ThreadID: fmt.Sprintf("%s-0-%d", fresh, i)})
					if !errors.Is(err, checkpoint.ErrNotFound) {
						return fmt.Errorf("the sweep left thread %d of %d: %w", i+1, sweptThreads, errors.Join(err, errRead))
					}
				}
				return nil
			},
		}
	}), nil
}

func (s *pgweftSide) storePut(_ context.Context, _ operation, fresh string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		namespace, key, value := []string{"bench", fresh, fmt.Sprint(worker)}, itemKey(i), s.payloads.item(i)
		return call{do: func(ctx context.Context) error { return store.Put(ctx, s.store, namespace, key, value) }}
	}), nil
}

func (s *pgweftSide) storeGet(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		number := (i*len(counts) + worker) * 7919 % op.Checkpoints
		var item *store.Item
		return call{
			do: func(ctx context.Context) (err error) {
				item, err = store.Get(ctx, s.store, itemNamespace(), itemKey(number))
				return err
			},
			check: func() error { return s.payloads.checkItem(number, item.Value) },
		}
	}), nil
}

func (s *pgweftSide) storeSearch(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		number := (i*len(counts) + worker) * 7919 % op.Checkpoints
		query := s.payloads.queryText(number)
		var found []store.SearchItem
		return call{
			do: func(ctx context.Context) error {
				results, err := s.found.Batch(ctx, store.SearchOp{NamespacePrefix: itemNamespace(), Query: query, Limit: searchLimit})
				if err != nil {
					return err
				}
				found = results[0].Items
				return nil
			},
			check: func() error {
				keys := make([]string, len(found))
				for i, item := range found {
					keys[i] = item.Key
				}
				return checkFound(number, keys)
			},
		}
	}), nil
}

// storeBatch puts and gets in one batch: half of each.
func (s *pgweftSide) storeBatch(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		namespace := []string{"bench", fresh, fmt.Sprint(worker)}
		var ops []store.Op
		var numbers []int
		for j := range op.Writes / 2 {
			number := (i*op.Writes + j) * 7919 % op.Checkpoints
			numbers = append(numbers, number)
			ops = append(ops, store.GetOp{Namespace: itemNamespace(), Key: itemKey(number)})
		}
		for j := range op.Writes / 2 {
			number := i*op.Writes + j
			ops = append(ops, store.PutOp{Namespace: namespace, Key: itemKey(number), Value: s.payloads.item(number)})
		}
		var results []store.Result
		return call{
			do: func(ctx context.Context) (err error) {
				results, err = s.store.Batch(ctx, ops...)
				return err
			},
			check: func() error {
				for j, number := range numbers {
					if results[j].Item == nil {
						return fmt.Errorf("%w: item %d is not there", errRead, number)
					}
					if err := s.payloads.checkItem(number, results[j].Item.Value); err != nil {
						return err
					}
				}
				return nil
			},
		}
	}), nil
}
