package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/serde"
)

const floorName = "floor"

// floorTable is what the floor writes to: the bytes of a checkpoint's values in one row, under one key.
const floorTable = `
	create schema floor;
	create table floor.states (
		thread text collate "C" not null,
		id text collate "C" not null,
		value bytea compression lz4 not null,
		primary key (thread, id)
	);
	create table floor.items (
		prefix text collate "C" not null,
		key text collate "C" not null,
		value bytea compression lz4 not null,
		primary key (prefix, key)
	)`

// floorSide does no more than it takes to keep the bytes: one prepared statement on one row, or on one range of an index. It
// lives in the database of pgweft, whose rows its range scans read.
type floorSide struct{ goSide }

func newFloor(ctx context.Context, watched *server, p payloads) (*floorSide, error) {
	pool, err := newPool(ctx, watched.url)
	if err != nil {
		return nil, err
	}
	s := &floorSide{goSide{id: floorName, title: "one row of the same bytes (the floor)", watched: watched, pool: pool, payloads: p}}
	s.prepare = map[string]func(context.Context, operation, string, []int) ([][]call, error){
		put: s.put, putWrites: s.putWrites, get: s.get, getByID: s.get, list: s.list, deltaHistory: s.deltaHistory,
		copyThread: s.copyThread, prune: s.prune, storePut: s.storePut, storeGet: s.storeGet,
	}
	return s, nil
}

func fillFloor(ctx context.Context, conn *pgx.Conn, p payloads, threads []thread) error {
	for _, t := range threads {
		if t.steps > 0 {
			continue
		}
		_, err := conn.CopyFrom(ctx, pgx.Identifier{"floor", "states"}, []string{"thread", "id", "value"},
			pgx.CopyFromSlice(t.checkpoints, func(i int) ([]any, error) {
				return []any{t.name, checkpointID(i), p.of(t.payload, i).bytes}, nil
			}))
		if err != nil {
			return fmt.Errorf("fill the floor's thread %s: %w", t.name, err)
		}
	}
	return nil
}

func fillFloorBackground(ctx context.Context, conn *pgx.Conn, from, to int) error {
	_, err := conn.Exec(ctx, `insert into floor.states (thread, id, value)
		select 'background-' || n / 100, `+backgroundID+`, convert_to(repeat(md5(n::text), 6), 'UTF8')
		from generate_series($1::integer, $2::integer - 1) n`, from, to)
	return err
}

func fillFloorItems(ctx context.Context, conn *pgx.Conn, p payloads, count int) error {
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"floor", "items"}, []string{"prefix", "key", "value"},
		pgx.CopyFromSlice(count, func(i int) ([]any, error) { return []any{itemPrefix, itemKey(i), p.itemBytes(i)}, nil }))
	return err
}

// exec makes a call of a statement that changes rows.
func (s *floorSide) exec(rows int64, sql string, args ...any) call {
	var done int64
	return call{
		do: func(ctx context.Context) error {
			tag, err := s.pool.Exec(ctx, sql, args...)
			done = tag.RowsAffected()
			return err
		},
		check: func() error {
			if done != rows {
				return fmt.Errorf("%d rows, not %d: %s", done, rows, sql)
			}
			return nil
		},
	}
}

// query makes a call of a statement that reads one column of bytes; the rows have to be those of expected, in order.
func (s *floorSide) query(expected [][]byte, sql string, args ...any) call {
	var read [][]byte
	return call{
		do: func(ctx context.Context) error {
			rows, err := s.pool.Query(ctx, sql, args...)
			if err != nil {
				return err
			}
			read, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			return err
		},
		check: func() error {
			if len(read) != len(expected) {
				return fmt.Errorf("%w: %d rows, not %d", errRead, len(read), len(expected))
			}
			for i := range read {
				if string(read[i]) != string(expected[i]) {
					return fmt.Errorf("%w: row %d has %d bytes", errRead, i, len(read[i]))
				}
			}
			read = nil
			return nil
		},
	}
}

const insertState = "insert into floor.states (thread, id, value) values ($1, $2, $3)"

func (s *floorSide) put(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		return s.exec(1, insertState, fmt.Sprintf("%s-%d", fresh, worker), checkpoint.NewID(i), s.payloads.of(op.Payload, i).bytes)
	}), nil
}

func (s *floorSide) putWrites(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	var bytes []byte
	for _, w := range s.payloads.writes(op.Payload, op.Writes) {
		typed, err := serde.Default().Dump(w.value)
		if err != nil {
			return nil, err
		}
		bytes = append(bytes, typed.Data...)
	}
	return each(counts, func(worker, i int) call {
		return s.exec(1, insertState, fmt.Sprintf("%s-%d", fresh, worker), checkpoint.NewID(i), bytes)
	}), nil
}

func (s *floorSide) get(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	number := op.Checkpoints - 1
	if op.Name == getByID {
		number = op.Checkpoints / 2
	}
	expected := [][]byte{s.payloads.of(op.Payload, number).bytes}
	return each(counts, func(int, int) call {
		return s.query(expected, "select value from floor.states where thread = $1 and id = $2", op.Thread, checkpointID(number))
	}), nil
}

func (s *floorSide) list(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	var expected [][]byte
	for i := range min(op.Limit, op.Checkpoints) {
		expected = append(expected, s.payloads.of(op.Payload, op.Checkpoints-1-i).bytes)
	}
	return each(counts, func(int, int) call {
		return s.query(expected, "select value from floor.states where thread = $1 order by id desc limit $2", op.Thread, op.Limit)
	}), nil
}

// deltaHistory reads the rows that a history comes from by two range scans, in one round trip.
func (s *floorSide) deltaHistory(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	schema := migrations.DefaultSchema
	first, last := checkpointID(op.Checkpoints-1-op.Limit), checkpointID(op.Checkpoints-1)
	const between = " where thread_id = $1 and checkpoint_ns = '' and checkpoint_id >= $2 and checkpoint_id < $3"
	return each(counts, func(int, int) call {
		var checkpoints int
		var values [][]byte
		return call{
			do: func(ctx context.Context) error {
				checkpoints, values = 0, values[:0]
				batch := &pgx.Batch{}
				batch.Queue("select checkpoint_id, parent_checkpoint_id from "+schema+".checkpoints"+between, op.Thread, first, last).
					Query(func(rows pgx.Rows) error {
						var id string
						var parent *string
						tag, err := pgx.ForEachRow(rows, []any{&id, &parent}, func() error { return nil })
						checkpoints = int(tag.RowsAffected())
						return err
					})
				batch.Queue("select blob from "+schema+".checkpoint_writes"+between, op.Thread, first, last).
					Query(func(rows pgx.Rows) (err error) {
						values, err = pgx.AppendRows(values, rows, pgx.RowTo[[]byte])
						return err
					})
				return s.pool.SendBatch(ctx, batch).Close()
			},
			check: func() error {
				if checkpoints != op.Limit {
					return fmt.Errorf("%w: %d checkpoints, not %d", errRead, checkpoints, op.Limit)
				}
				decoded := make([]any, len(values))
				for i, value := range values {
					var err error
					if decoded[i], err = serde.Default().Load(serde.Typed{Type: "msgpack", Data: value}); err != nil {
						return err
					}
				}
				return checkHistory(op, decoded)
			},
		}
	}), nil
}

const copyStates = "insert into floor.states (thread, id, value) select $2, id, value from floor.states where thread = $1"

func (s *floorSide) copyThread(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		return s.exec(int64(op.Checkpoints), copyStates, op.Thread, fmt.Sprintf("%s-%d-%d", fresh, worker, i))
	}), nil
}

func (s *floorSide) prune(ctx context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	targets, err := copies(fresh, counts, func(target string) error {
		_, err := s.pool.Exec(ctx, copyStates, op.Thread, target)
		return err
	})
	if err != nil {
		return nil, err
	}
	return each(counts, func(worker, i int) call {
		return s.exec(int64(op.Checkpoints-1), "delete from floor.states where thread = $1 and id < $2", targets[worker][i],
			checkpointID(op.Checkpoints-1))
	}), nil
}

func (s *floorSide) storePut(_ context.Context, _ operation, fresh string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		return s.exec(1, "insert into floor.items (prefix, key, value) values ($1, $2, $3)",
			strings.Join([]string{"bench", fresh, fmt.Sprint(worker)}, "."), itemKey(i), s.payloads.itemBytes(i))
	}), nil
}

func (s *floorSide) storeGet(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		number := (i*len(counts) + worker) * 7919 % op.Checkpoints
		return s.query([][]byte{s.payloads.itemBytes(number)}, "select value from floor.items where prefix = $1 and key = $2", itemPrefix,
			itemKey(number))
	}), nil
}
