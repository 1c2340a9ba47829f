package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgweft/pgweft/bench/internal/langgraph"
	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

const langGraphName = "langgraph-sql"

// langGraphTables has the columns, types, keys and indexes that the migrations of langgraph-checkpoint-postgres 3.2 make, and
// the tables of its store with an index of vectors.
var langGraphTables = `
	create table checkpoints (
		thread_id text not null,
		checkpoint_ns text not null default '',
		checkpoint_id text not null,
		parent_checkpoint_id text,
		type text,
		checkpoint jsonb not null,
		metadata jsonb not null default '{}',
		primary key (thread_id, checkpoint_ns, checkpoint_id)
	);
	create table checkpoint_blobs (
		thread_id text not null,
		checkpoint_ns text not null default '',
		channel text not null,
		version text not null,
		type text not null,
		blob bytea,
		primary key (thread_id, checkpoint_ns, channel, version)
	);
	create table checkpoint_writes (
		thread_id text not null,
		checkpoint_ns text not null default '',
		checkpoint_id text not null,
		task_id text not null,
		idx integer not null,
		channel text not null,
		type text,
		blob bytea not null,
		task_path text not null default '',
		primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
	);
	create index checkpoints_thread_id_idx on checkpoints (thread_id);
	create index checkpoint_blobs_thread_id_idx on checkpoint_blobs (thread_id);
	create index checkpoint_writes_thread_id_idx on checkpoint_writes (thread_id);` +
	langgraph.StoreTables + langgraph.VectorTable(dimensions) + langgraph.VectorIndex

// The statements of langgraph-checkpoint-postgres 3.2, with numbered parameters.
const (
	langGraphPutBlob = `insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (thread_id, checkpoint_ns, channel, version) do nothing`
	langGraphPut = `insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (thread_id, checkpoint_ns, checkpoint_id)
		do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata`
	langGraphPutWrite = `insert into checkpoint_writes
			(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do nothing`
	langGraphSelect = `select thread_id, checkpoint, checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata,
			(
				select array_agg(array[bl.channel::bytea, bl.type::bytea, bl.blob])
				from jsonb_each_text(checkpoint -> 'channel_versions')
				inner join checkpoint_blobs bl
					on bl.thread_id = checkpoints.thread_id
					and bl.checkpoint_ns = checkpoints.checkpoint_ns
					and bl.channel = jsonb_each_text.key
					and bl.version = jsonb_each_text.value
			) as channel_values,
			(
				select array_agg(array[cw.task_id::text::bytea, cw.channel::bytea, cw.type::bytea, cw.blob,
					convert_to(cw.task_path, 'UTF8'), cw.idx::text::bytea])
				from checkpoint_writes cw
				where cw.thread_id = checkpoints.thread_id
					and cw.checkpoint_ns = checkpoints.checkpoint_ns
					and cw.checkpoint_id = checkpoints.checkpoint_id
			) as pending_writes
		from checkpoints `
	langGraphLatest = langGraphSelect + `where thread_id = $1 and checkpoint_ns = $2 order by checkpoint_id desc limit 1`
	langGraphByID   = langGraphSelect + `where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3`
	langGraphList   = langGraphSelect + `where thread_id = $1 and checkpoint_ns = $2 order by checkpoint_id desc limit $3`

	// The two stages of its delta history, of one channel: a page of the thread, and what the ancestors wrote.
	langGraphHistoryPage = `select checkpoint_id, parent_checkpoint_id,
			checkpoint -> 'channel_versions' ->> $1::text as version,
			exists (select 1 from checkpoint_blobs b
				where b.thread_id = checkpoints.thread_id and b.checkpoint_ns = checkpoints.checkpoint_ns and b.channel = $1::text
					and b.version = checkpoint -> 'channel_versions' ->> $1::text and b.type <> 'empty') as stored
		from checkpoints
		where thread_id = $2 and checkpoint_ns = '' and checkpoint_id %s $3
		order by checkpoint_id desc
		limit 1024`
	langGraphHistoryRows = `select checkpoint_id, type, blob, task_id, task_path, idx
		from checkpoint_writes
		where thread_id = $1 and checkpoint_ns = '' and channel = $2 and checkpoint_id = any($3::text[])
		union all
		select null::text, type, blob, null::text, null::text, null::integer
		from checkpoint_blobs
		where thread_id = $1 and checkpoint_ns = '' and channel = $2 and version = $4`

	langGraphStorePut = `insert into store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
		values %s
		on conflict (prefix, key) do update
		set value = excluded.value, updated_at = current_timestamp, expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes`
	langGraphStoreGet = `with passed_in as (
			select unnest($1::text[]) as key, unnest($2::bool[]) as do_refresh
		), updated as (
			update store s
			set expires_at = now() + (s.ttl_minutes || ' minutes')::interval
			from passed_in p
			where s.prefix = $3 and s.key = p.key and p.do_refresh = true and s.ttl_minutes is not null
			returning s.key
		)
		select s.key, s.value, s.created_at, s.updated_at
		from store s
		join passed_in p on s.key = p.key
		where s.prefix = $4`
)

// langGraphSide sends LangGraph's statements by pgx, with our serializer: only the design of tables and statements differs.
// A put is one pipeline, which is one transaction, as LangGraph's pipeline is.
type langGraphSide struct{ goSide }

func newLangGraph(ctx context.Context, watched *server, p payloads) (*langGraphSide, error) {
	pool, err := newPool(ctx, watched.url)
	if err != nil {
		return nil, err
	}
	s := &langGraphSide{goSide{id: langGraphName, title: "LangGraph's statements and tables, by pgx", watched: watched, pool: pool, payloads: p}}
	s.prepare = map[string]func(context.Context, operation, string, []int) ([][]call, error){
		put: s.put, putWrites: s.putWrites, get: s.get, getByID: s.get, list: s.list, deltaHistory: s.deltaHistory, prune: s.prune,
		storePut: s.storePut, storeGet: s.storeGet, storeSearch: s.storeSearch, storeBatch: s.storeBatch,
	}
	return s, nil
}

func (s *langGraphSide) put(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	parents := make([]*string, len(counts))
	return each(counts, func(worker, i int) call {
		threadID := fmt.Sprintf("%s-%d", fresh, worker)
		cp, metadata := newCheckpoint(s.payloads.of(op.Payload, i), i)
		return call{do: func(ctx context.Context) error {
			batch, err := putBatch(threadID, parents[worker], cp, metadata)
			if err != nil {
				return err
			}
			parents[worker] = &cp.ID
			return s.pool.SendBatch(ctx, batch).Close()
		}}
	}), nil
}

func putBatch(threadID string, parent *string, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata) (*pgx.Batch, error) {
	batch := &pgx.Batch{}
	form := *cp
	form.ChannelValues = make(map[string]any, len(cp.ChannelValues))
	for channel, value := range cp.ChannelValues {
		if text, isText := value.(string); isText {
			form.ChannelValues[channel] = text
			continue
		}
		typed, err := serde.Default().Dump(value)
		if err != nil {
			return nil, err
		}
		batch.Queue(langGraphPutBlob, threadID, "", channel, cp.ChannelVersions[channel].String(), typed.Type, typed.Data)
	}
	checkpointJSON, err := form.MarshalJSON()
	if err != nil {
		return nil, err
	}
	metadataJSON, err := metadata.MarshalJSON()
	if err != nil {
		return nil, err
	}
	batch.Queue(langGraphPut, threadID, "", cp.ID, parent, string(checkpointJSON), string(metadataJSON))
	return batch, nil
}

func (s *langGraphSide) putWrites(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	writes := s.payloads.writes(op.Payload, op.Writes)
	return each(counts, func(worker, i int) call {
		threadID, checkpointID := fmt.Sprintf("%s-%d", fresh, worker), checkpoint.NewID(i)
		return call{do: func(ctx context.Context) error {
			batch := &pgx.Batch{}
			for index, w := range writes {
				typed, err := serde.Default().Dump(w.value)
				if err != nil {
					return err
				}
				batch.Queue(langGraphPutWrite, threadID, "", checkpointID, taskID(i), "~__pregel_pull, agent", index, w.channel, typed.Type, typed.Data)
			}
			return s.pool.SendBatch(ctx, batch).Close()
		}}
	}), nil
}

// langGraphRow is a row of the select statement, by name.
type langGraphRow struct {
	ThreadID           string               `db:"thread_id"`
	Checkpoint         []byte               `db:"checkpoint"`
	CheckpointNS       string               `db:"checkpoint_ns"`
	CheckpointID       string               `db:"checkpoint_id"`
	ParentCheckpointID *string              `db:"parent_checkpoint_id"`
	Metadata           checkpoint.Metadata  `db:"metadata"`
	ChannelValues      pgtype.Array[[]byte] `db:"channel_values"`
	PendingWrites      pgtype.Array[[]byte] `db:"pending_writes"`
}

func (r *langGraphRow) values() (map[string]any, error) {
	var cp checkpoint.Checkpoint
	if err := cp.UnmarshalJSON(r.Checkpoint); err != nil {
		return nil, err
	}
	for value := range slices.Chunk(r.ChannelValues.Elements, 3) {
		loaded, err := serde.Default().Load(serde.Typed{Type: string(value[1]), Data: value[2]})
		if err != nil {
			return nil, err
		}
		cp.ChannelValues[string(value[0])] = loaded
	}
	for pending := range slices.Chunk(r.PendingWrites.Elements, 6) {
		if _, err := serde.Default().Load(serde.Typed{Type: string(pending[2]), Data: pending[3]}); err != nil {
			return nil, err
		}
	}
	return cp.ChannelValues, nil
}

func (s *langGraphSide) read(ctx context.Context, sql string, args ...any) ([]map[string]any, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[langGraphRow])
	if err != nil {
		return nil, err
	}
	states := make([]map[string]any, len(found))
	for i := range found {
		if states[i], err = found[i].values(); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func (s *langGraphSide) get(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	number, sql, args := op.Checkpoints-1, langGraphLatest, []any{op.Thread, ""}
	if op.Name == getByID {
		number = op.Checkpoints / 2
		sql, args = langGraphByID, append(args, checkpointID(number))
	}
	expected := s.payloads.of(op.Payload, number)
	return each(counts, func(int, int) call {
		var states []map[string]any
		return call{
			do: func(ctx context.Context) (err error) {
				states, err = s.read(ctx, sql, args...)
				return err
			},
			check: func() error {
				if len(states) != 1 {
					return fmt.Errorf("%w: %d checkpoints, not 1", errRead, len(states))
				}
				return expected.check(states[0])
			},
		}
	}), nil
}

func (s *langGraphSide) list(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(int, int) call {
		var states []map[string]any
		return call{
			do: func(ctx context.Context) (err error) {
				states, err = s.read(ctx, langGraphList, op.Thread, "", op.Limit)
				return err
			},
			check: func() error {
				defer func() { states = nil }()
				return s.payloads.checkList(op, states)
			},
		}
	}), nil
}

func (s *langGraphSide) deltaHistory(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(int, int) call {
		var values []any
		return call{
			do: func(ctx context.Context) (err error) {
				values, err = s.history(ctx, op.Thread)
				return err
			},
			check: func() error { return checkHistory(op, values) },
		}
	}), nil
}

// ancestor is a row of a page of the history's first stage.
type ancestor struct {
	ID      string
	Parent  *string
	Version *string
	Stored  bool
}

// historyWrite is a row of the second stage; its ID is null for the seed.
type historyWrite struct {
	ID       *string
	Type     string
	Blob     []byte
	TaskID   *string
	TaskPath *string
	Index    *int
}

func (s *langGraphSide) history(ctx context.Context, threadID string) ([]any, error) {
	rows, err := s.pool.Query(ctx, langGraphLatest, threadID, "")
	if err != nil {
		return nil, err
	}
	newest, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[langGraphRow])
	if err != nil {
		return nil, err
	}
	chain, seed, err := s.ancestors(ctx, threadID, newest.CheckpointID)
	if err != nil {
		return nil, err
	}
	if rows, err = s.pool.Query(ctx, langGraphHistoryRows, threadID, deltaChannel, chain, seed); err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[historyWrite])
	if err != nil {
		return nil, err
	}
	writes := map[string][]historyWrite{}
	for _, w := range found {
		if w.ID != nil {
			writes[*w.ID] = append(writes[*w.ID], w)
		} else if _, err := serde.Default().Load(serde.Typed{Type: w.Type, Data: w.Blob}); err != nil {
			return nil, err
		}
	}
	var values []any
	for _, id := range slices.Backward(chain) {
		for _, w := range writes[id] {
			value, err := serde.Default().Load(serde.Typed{Type: w.Type, Data: w.Blob})
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	return values, nil
}

// ancestors walks the thread in pages from the target down to the first ancestor that stores a value, and says under which
// version.
func (s *langGraphSide) ancestors(ctx context.Context, threadID, target string) (chain []string, seed *string, err error) {
	seen := map[string]ancestor{}
	want, cursor, operator := target, target, "<="
	for ; ; operator = "<" {
		rows, err := s.pool.Query(ctx, fmt.Sprintf(langGraphHistoryPage, operator), deltaChannel, threadID, cursor)
		if err != nil {
			return nil, nil, err
		}
		page, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ancestor])
		if err != nil {
			return nil, nil, err
		}
		for _, row := range page {
			seen[row.ID] = row
			cursor = row.ID
		}
		for {
			row, known := seen[want]
			if !known {
				break
			}
			if want != target {
				chain = append(chain, want)
				if row.Stored {
					return chain, row.Version, nil
				}
			}
			if row.Parent == nil {
				return chain, nil, nil
			}
			want = *row.Parent
		}
		if len(page) == 0 {
			return chain, nil, nil
		}
	}
}

// prune keeps the newest checkpoint of copies of the thread, by the statements that LangGraph's prune sends for a thread of
// one namespace, each on its own and unprepared, in one transaction.
func (s *langGraphSide) prune(ctx context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	targets, err := copies(fresh, counts, func(target string) error { return s.copyRows(ctx, op.Thread, target) })
	if err != nil {
		return nil, err
	}
	return each(counts, func(worker, i int) call {
		var removed int
		return call{
			do: func(ctx context.Context) (err error) {
				removed, err = s.keepLatest(ctx, targets[worker][i])
				return err
			},
			check: func() error {
				if removed != op.Checkpoints-1 {
					return fmt.Errorf("pruning %s removed %d checkpoints, not %d", targets[worker][i], removed, op.Checkpoints-1)
				}
				return nil
			},
		}
	}), nil
}

func (s *langGraphSide) copyRows(ctx context.Context, from, to string) error {
	for table, columns := range map[string]string{
		"checkpoints":       "checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata",
		"checkpoint_blobs":  "checkpoint_ns, channel, version, type, blob",
		"checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path",
	} {
		_, err := s.pool.Exec(ctx, fmt.Sprintf("insert into %[1]s (thread_id, %[2]s) select $2, %[2]s from %[1]s where thread_id = $1",
			table, columns), from, to)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *langGraphSide) keepLatest(ctx context.Context, threadID string) (removed int, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		head, err := one[string](ctx, tx, `select h.checkpoint_id
			from (
				select distinct on (checkpoint_ns) checkpoint_ns, checkpoint_id
				from checkpoints
				where thread_id = $1
				order by checkpoint_ns desc, checkpoint_id desc
			) as h
			cross join lateral (
				select checkpoint, parent_checkpoint_id, metadata
				from checkpoints
				where thread_id = $1 and checkpoint_ns = h.checkpoint_ns and checkpoint_id = h.checkpoint_id
			) as c`, threadID)
		if err != nil {
			return err
		}
		if _, err := all[string](ctx, tx, langGraphDeltaThreads, []string{threadID}); err != nil {
			return err
		}
		unkept, err := all[string](ctx, tx, `select checkpoint_id from checkpoints
			where thread_id = $1 and checkpoint_ns = '' and checkpoint_id <> all($2::text[])`, threadID, head)
		if err != nil {
			return err
		}
		removed = len(unkept)
		if _, err := tx.Exec(ctx, `delete from checkpoint_writes
			where thread_id = $1 and checkpoint_ns = '' and checkpoint_id = any($2::text[])`, pgx.QueryExecModeExec, threadID, unkept); err != nil {
			return err
		}
		freed, err := versions(ctx, tx, `with deleted as (
				delete from checkpoints
				where thread_id = $1 and checkpoint_ns = '' and checkpoint_id <> all($2::text[])
				returning checkpoint -> 'channel_versions' as versions
			)
			select distinct v.key as channel, v.value as version
			from deleted
			cross join lateral jsonb_each_text(deleted.versions) as v`, threadID, head)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update checkpoints set parent_checkpoint_id = null
			where thread_id = $1 and checkpoint_ns = '' and checkpoint_id = any($2::text[]) and parent_checkpoint_id <> all($2::text[])`,
			pgx.QueryExecModeExec, threadID, head); err != nil {
			return err
		}
		referenced, err := versions(ctx, tx, `select distinct v.key as channel, v.value as version
			from checkpoints c
			cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') as v
			where c.thread_id = $1 and c.checkpoint_ns = ''`, threadID)
		if err != nil {
			return err
		}
		return deleteBlobs(ctx, tx, threadID, freed, referenced)
	})
	return removed, err
}

const langGraphDeltaThreads = `select thread_id
	from checkpoints
	where thread_id = any($1::text[]) and (metadata ? 'counters_since_delta_snapshot' or metadata ? 'delta_writes_versioned')
	union
	select c.thread_id
	from checkpoints c
	cross join lateral jsonb_each(c.checkpoint -> 'channel_values') as v
	cross join lateral (
		select 1
		from checkpoint_blobs b
		where b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns and b.channel = v.key
			and b.version = c.checkpoint -> 'channel_versions' ->> v.key
		limit 1
	) as snapshot
	where c.thread_id = any($1::text[]) and v.value = 'true'::jsonb`

func deleteBlobs(ctx context.Context, tx pgx.Tx, threadID string, freed, referenced []channelVersion) error {
	kept := map[channelVersion]bool{}
	for _, v := range referenced {
		kept[v] = true
	}
	garbage := map[string][]string{}
	for _, v := range freed {
		if !kept[v] {
			garbage[v.Channel] = append(garbage[v.Channel], v.Version)
		}
	}
	for _, channel := range sortedKeys(garbage) {
		_, err := tx.Exec(ctx, `delete from checkpoint_blobs
			where thread_id = $1 and checkpoint_ns = '' and channel = $2 and version = any($3::text[])`,
			pgx.QueryExecModeExec, threadID, channel, garbage[channel])
		if err != nil {
			return err
		}
	}
	return nil
}

type channelVersion struct{ Channel, Version string }

func versions(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]channelVersion, error) {
	rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[channelVersion])
}

func all[T any](ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// one is the only row, as a list.
func one[T any](ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]T, error) {
	found, err := all[T](ctx, tx, sql, args...)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%w: %d rows, not 1", errRead, len(found))
	}
	return found, err
}

func (s *langGraphSide) storePut(_ context.Context, _ operation, fresh string, counts []int) ([][]call, error) {
	sql := storePutSQL(1)
	return each(counts, func(worker, i int) call {
		prefix, value := strings.Join([]string{"bench", fresh, fmt.Sprint(worker)}, "."), s.payloads.item(i)
		return call{do: func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, sql, prefix, itemKey(i), value)
			return err
		}}
	}), nil
}

// storePutSQL puts so many items.
func storePutSQL(count int) string {
	rows := make([]string, count)
	for i := range rows {
		rows[i] = fmt.Sprintf("($%d, $%d, $%d, current_timestamp, current_timestamp, null, null)", 3*i+1, 3*i+2, 3*i+3)
	}
	return fmt.Sprintf(langGraphStorePut, strings.Join(rows, ", "))
}

// storeItem is a row of its get.
type storeItem struct {
	Key                  string
	Value                json.RawMessage
	CreatedAt, UpdatedAt time.Time
}

func (p payloads) checkStoreItem(item storeItem, number int) error {
	var value map[string]any
	if err := json.Unmarshal(item.Value, &value); err != nil {
		return err
	}
	return p.checkItem(number, value)
}

func (s *langGraphSide) storeGet(_ context.Context, op operation, _ string, counts []int) ([][]call, error) {
	return each(counts, func(worker, i int) call {
		number := (i*len(counts) + worker) * 7919 % op.Checkpoints
		var item storeItem
		return call{
			do: func(ctx context.Context) error {
				rows, err := s.pool.Query(ctx, langGraphStoreGet, []string{itemKey(number)}, []bool{true}, itemPrefix, itemPrefix)
				if err != nil {
					return err
				}
				item, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[storeItem])
				return err
			},
			check: func() error { return s.payloads.checkStoreItem(item, number) },
		}
	}), nil
}

func (s *langGraphSide) storeSearch(ctx context.Context, op operation, _ string, counts []int) ([][]call, error) {
	var failed error
	calls := each(counts, func(worker, i int) call {
		number := (i*len(counts) + worker) * 7919 % op.Checkpoints
		vector, err := embedder.EmbedQuery(ctx, s.payloads.queryText(number))
		failed = errors.Join(failed, err)
		sql, args := langgraph.Search{Prefix: itemPrefix, Vector: vector, Limit: searchLimit}.Statement()
		var found []langgraph.Found
		return call{
			do: func(ctx context.Context) error {
				rows, err := s.pool.Query(ctx, sql, args...)
				if err != nil {
					return err
				}
				found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[langgraph.Found])
				return err
			},
			check: func() error {
				keys := make([]string, len(found))
				for i, item := range found {
					keys[i] = item.Key
				}
				return checkFound(number, keys)
			},
		}
	})
	return calls, failed
}

// storeBatch sends one statement for all gets of a namespace and one for all puts, in one pipeline.
func (s *langGraphSide) storeBatch(_ context.Context, op operation, fresh string, counts []int) ([][]call, error) {
	sql := storePutSQL(op.Writes / 2)
	return each(counts, func(worker, i int) call {
		numbers := map[string]int{}
		var keys []string
		var refresh []bool
		var puts []any
		for j := range op.Writes / 2 {
			number := (i*op.Writes + j) * 7919 % op.Checkpoints
			numbers[itemKey(number)] = number
			keys, refresh = append(keys, itemKey(number)), append(refresh, true)
			put := i*op.Writes + j
			puts = append(puts, strings.Join([]string{"bench", fresh, fmt.Sprint(worker)}, "."), itemKey(put), s.payloads.item(put))
		}
		var found []storeItem
		return call{
			do: func(ctx context.Context) error {
				batch := &pgx.Batch{}
				batch.Queue(langGraphStoreGet, keys, refresh, itemPrefix, itemPrefix).Query(func(rows pgx.Rows) (err error) {
					found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[storeItem])
					return err
				})
				batch.Queue(sql, puts...)
				return s.pool.SendBatch(ctx, batch).Close()
			},
			check: func() error {
				if len(found) != len(numbers) {
					return fmt.Errorf("%w: %d items, not %d", errRead, len(found), len(numbers))
				}
				for _, item := range found {
					if err := s.payloads.checkStoreItem(item, numbers[item.Key]); err != nil {
						return err
					}
				}
				return nil
			},
		}
	}), nil
}
