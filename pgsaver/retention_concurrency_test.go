package pgsaver_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// patience bounds how long a test waits for another session to get where it should.
const patience = 60 * time.Second

// chainStepSQL saves step $2 of thread $1: messages changes with each, base is the first step's, d is a delta channel with a
// snapshot at every fifth step. Its task has written to d by then.
const chainStepSQL = `
	select langgraph.put_writes($1::text, '', lpad(($2 - 1)::text, 6, '0'), 'task', '', null, array['d'], array['msgpack'],
		array[convert_to('w' || $2, 'UTF8')])
	where $2 > 1
	union all
	select langgraph.put_checkpoint($1::text, '', lpad($2::text, 6, '0'), case when $2 > 1 then lpad(($2 - 1)::text, 6, '0') end,
		jsonb_build_object('v', 4, 'id', lpad($2::text, 6, '0'),
			'channel_values', case when $2 % 5 = 0 then '{"d": true}' else '{}' end::jsonb,
			'channel_versions', jsonb_build_object('messages', lpad($2::text, 32, '0') || '.1', 'base', lpad('1', 32, '0') || '.1')
				|| case when $2 > 1 then jsonb_build_object('d', lpad($2::text, 32, '0') || '.1') else '{}' end),
		jsonb_build_object('source', 'loop', 'step', $2)
			|| case when $2 = 1 or $2 % 5 = 0 then '{}' else '{"counters_since_delta_snapshot": {"d": [1, 1]}}' end::jsonb,
		array['messages'] || case when $2 = 1 then array['base'] when $2 % 5 = 0 then array['d'] else '{}' end,
		array[lpad($2::text, 32, '0') || '.1']
			|| case when $2 = 1 then array[lpad('1', 32, '0') || '.1'] when $2 % 5 = 0 then array[lpad($2::text, 32, '0') || '.1']
				else '{}' end,
		array['msgpack'] || case when $2 = 1 or $2 % 5 = 0 then array['msgpack'] else '{}' end,
		array[convert_to('m' || $2, 'UTF8')]
			|| case when $2 = 1 then array['base'::bytea] when $2 % 5 = 0 then array[convert_to('s' || $2, 'UTF8')] else '{}' end)`

// chains makes threads named t000, t001, ... of so many steps.
func chains(t *testing.T, db *pgxpool.Pool, threads, steps int) []string {
	t.Helper()
	names := make([]string, threads)
	for i := range names {
		names[i] = fmt.Sprintf("t%03d", i)
		batch := &pgx.Batch{}
		for n := range steps {
			batch.Queue(chainStepSQL, names[i], int32(n+1))
		}
		require.NoError(t, db.SendBatch(t.Context(), batch).Close())
	}
	return names
}

// chainState is what step n of a chain reads back: its values, and what rebuilds d.
func chainState(n int) string {
	lines := []string{"base=base"}
	if n%5 == 0 {
		lines = append(lines, fmt.Sprintf("d=s%d", n))
	}
	lines = append(lines, fmt.Sprintf("messages=m%d", n))
	seed := max((n-1)/5*5, 0)
	if seed > 0 {
		lines = append(lines, fmt.Sprintf("seed s%d", seed))
	}
	for w := max(seed, 1); w < n; w++ {
		lines = append(lines, fmt.Sprintf("write w%d", w+1))
	}
	return strings.Join(lines, "\n")
}

// readState is what the newest checkpoint of a thread reads back (or the one with this id), and its id.
func readState(ctx context.Context, db *pgxpool.Pool, thread string, id *string) (state, found string, err error) {
	err = db.QueryRow(ctx, `
		select g.checkpoint_id, (
			select string_agg(line, E'\n' order by place, n) from (
				select 1 as place, row_number() over (order by c) as n, c || '=' || convert_from(b, 'UTF8') as line
				from unnest(g.value_channels, g.value_blobs) v (c, b)
				union all
				select 2, h.ordinality, h.kind || ' ' || convert_from(h.blob, 'UTF8')
				from langgraph.delta_channel_history($1, '', g.checkpoint_id, array['d']) with ordinality h
			) l)
		from langgraph.get_checkpoint($1, '', $2) g`, thread, id).Scan(&found, &state)
	return state, found, err
}

// values cuts off what would rebuild d, which nothing needs where d is stored.
func values(state string) string {
	if !strings.Contains(state, "\nd=") {
		return state
	}
	state, _, _ = strings.Cut(state, "\nseed ")
	state, _, _ = strings.Cut(state, "\nwrite ")
	return state
}

// checkChain says whether the newest checkpoint of a chain of n steps reads back whole.
func checkChain(ctx context.Context, db *pgxpool.Pool, thread string, n int) error {
	state, id, err := readState(ctx, db, thread, nil)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%06d", n); id != want {
		return fmt.Errorf("the newest checkpoint of %s is %s, and should be %s", thread, id, want)
	}
	if want := values(chainState(n)); values(state) != want {
		return fmt.Errorf("step %d of %s reads back as\n%s\nand should be\n%s", n, thread, values(state), want)
	}
	return nil
}

func requireChain(t *testing.T, db *pgxpool.Pool, thread string, n int) {
	t.Helper()
	require.NoError(t, checkChain(t.Context(), db, thread, n))
}

// tableRows counts what a database holds of checkpoints, blobs and writes.
func tableRows(t *testing.T, db *pgxpool.Pool, where string) [3]int {
	t.Helper()
	return [3]int{
		count(t, db, "select count(*)::int from langgraph.checkpoints "+where),
		count(t, db, "select count(*)::int from langgraph.checkpoint_blobs "+where),
		count(t, db, "select count(*)::int from langgraph.checkpoint_writes "+where),
	}
}

// contents is all rows of the checkpoint tables, without times.
func contents(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		select concat_ws(' ', 'c', thread_id, checkpoint_ns, checkpoint_id, coalesce(parent_checkpoint_id, '-'), checkpoint, metadata)
		from langgraph.checkpoints
		union all
		select concat_ws(' ', 'b', thread_id, checkpoint_ns, channel, version, type, blob) from langgraph.checkpoint_blobs
		union all
		select concat_ws(' ', 'w', thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, blob)
		from langgraph.checkpoint_writes
		order by 1`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

// requireSound requires that fsck finds nothing.
func requireSound(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	rows, err := db.Query(t.Context(), "select concat_ws(' ', problem, thread_id, checkpoint_id, channel, detail) from langgraph.fsck()")
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, found)
}

// session is a connection of its own, to be blocked, watched or ended. Notices are kept.
type session struct {
	*pgx.Conn
	notices chan string
}

func newSession(t *testing.T, db *pgxpool.Pool) *session {
	t.Helper()
	config := db.Config().ConnConfig.Copy()
	s := &session{notices: make(chan string, 1000)}
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { s.notices <- notice.Message }
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	s.Conn = conn
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return s
}

// start runs a statement and delivers its error.
func (s *session) start(t *testing.T, sql string, args ...any) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Exec(t.Context(), sql, args...)
		ended <- err
	}()
	return ended
}

// requireBlocked waits until the session waits for a lock that another holds.
func requireBlocked(t *testing.T, db *pgxpool.Pool, s *session) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, db, fmt.Sprintf("select cardinality(pg_blocking_pids(%d))", s.PgConn().PID())) > 0
	}, patience, 2*time.Millisecond, "the session does not wait for the lock")
}

// requireState requires an error of Postgres.
func requireState(t *testing.T, code string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, code, pgErr.Code, pgErr.Message)
}

// patientPool is newPool; a statement that hangs fails its test.
func patientPool(t *testing.T, adjust ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	return newPool(t, append(adjust, func(config *pgxpool.Config) {
		config.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(2*patience.Milliseconds(), 10)
	})...)
}

const keepOneSQL = "select langgraph.set_retention_policy('keep one', p_keep_last => 1)"

func TestTwoSweepersAtOnce(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	threads := chains(t, db, 12, 12)
	exec(t, db, keepOneSQL)
	holder, first, second := newSession(t, db), newSession(t, db), newSession(t, db)

	hold, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "select from langgraph.checkpoints where thread_id = 't005' for update")
	require.NoError(t, err)
	swept := first.start(t, "call langgraph.sweep(2)")
	requireBlocked(t, db, first)

	_, err = second.Exec(t.Context(), "call langgraph.sweep(2)")
	require.NoError(t, err)
	require.Equal(t, "another sweep is running; this one leaves the work to it", <-second.notices)
	require.Equal(t, [3]int{12, 15, 11}, tableRows(t, db, "where thread_id = 't006'"), "the second removed nothing")

	require.NoError(t, hold.Commit(t.Context()))
	require.NoError(t, <-swept)
	for _, thread := range threads {
		// Step 12 needs 10, which keeps d, and 11 on the way to it.
		require.Equal(t, [3]int{3, 5, 2}, tableRows(t, db, "where thread_id = '"+thread+"'"), thread)
		requireChain(t, db, thread, 12)
	}
	requireSound(t, db)
}

func TestManySweepersAtOnceDoTheWorkOfOne(t *testing.T) {
	t.Parallel()
	alone, together := patientPool(t), patientPool(t)
	for _, db := range []*pgxpool.Pool{alone, together} {
		chains(t, db, 15, 13)
		exec(t, db, keepOneSQL)
	}
	exec(t, alone, "call langgraph.sweep()")
	runAll(t, 4, func(int) error {
		for range 5 {
			if _, err := together.Exec(t.Context(), "call langgraph.sweep(1)"); err != nil {
				return err
			}
		}
		return nil
	})
	exec(t, together, "call langgraph.sweep()")
	require.Equal(t, contents(t, alone), contents(t, together))
}

// runAll runs do n times at once, and requires that none of them fails.
func runAll(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = do(i) })
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestSweepingBesideWriters(t *testing.T) {
	t.Parallel()
	db := patientPool(t, func(config *pgxpool.Config) { config.MaxConns = 8 })
	const writers, steps = 4, 40
	threads := chains(t, db, writers, 1)
	exec(t, db, keepOneSQL)
	exec(t, db, "select langgraph.set_retention_policy('age', p_max_age => '1 microsecond', p_idle_ttl => '1 hour')")

	var working atomic.Int32
	working.Store(writers)
	var swept atomic.Int64
	runAll(t, writers+3, func(i int) error {
		switch {
		case i < writers:
			defer working.Add(-1)
			for n := int32(2); n <= steps; n++ {
				if _, err := db.Exec(t.Context(), chainStepSQL, threads[i], n); err != nil {
					return err
				}
				if err := checkChain(t.Context(), db, threads[i], int(n)); err != nil {
					return err
				}
			}
		case i < writers+2:
			for working.Load() > 0 {
				if _, err := db.Exec(t.Context(), "call langgraph.sweep($1)", 1+i%3); err != nil {
					return err
				}
				swept.Add(1)
			}
		default:
			for working.Load() > 0 {
				if _, err := db.Exec(t.Context(), "select langgraph.prune($1)", threads); err != nil {
					return err
				}
			}
		}
		return nil
	})
	require.Positive(t, swept.Load())
	exec(t, db, "call langgraph.sweep()")
	for _, thread := range threads {
		requireChain(t, db, thread, steps)
		require.Equal(t, [3]int{1, 3, 0}, tableRows(t, db, "where thread_id = '"+thread+"'"), "step 40 keeps d itself")
	}
	requireSound(t, db)
}

func TestASweepThatWasEndedInABatchIsResumed(t *testing.T) {
	t.Parallel()
	alone, db := patientPool(t), patientPool(t)
	for _, pool := range []*pgxpool.Pool{alone, db} {
		chains(t, pool, 9, 12)
		exec(t, pool, keepOneSQL)
	}
	exec(t, alone, "call langgraph.sweep()")
	before := contents(t, db)

	holder, sweeper := newSession(t, db), newSession(t, db)
	hold, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "select from langgraph.checkpoints where thread_id = 't005' for update")
	require.NoError(t, err)
	swept := sweeper.start(t, "call langgraph.sweep(2)")
	requireBlocked(t, db, sweeper) // in the batch of t004 and t005
	exec(t, db, fmt.Sprintf("select pg_terminate_backend(%d)", sweeper.PgConn().PID()))
	requireState(t, "57P01", <-swept)
	require.NoError(t, hold.Commit(t.Context()))
	// A server process says that it ends before it lets go of its locks, and a sweep that finds them held does nothing.
	gone := fmt.Sprintf("select count(*)::int from pg_stat_activity where pid = %d", sweeper.PgConn().PID())
	require.Eventually(t, func() bool { return count(t, db, gone) == 0 }, patience, 2*time.Millisecond)

	untouched := func(line string) bool { return strings.Fields(line)[1] < "t004" }
	require.Equal(t, slices.DeleteFunc(before, untouched), slices.DeleteFunc(contents(t, db), untouched))
	for i := range 9 {
		want := [3]int{12, 15, 11}
		if i < 4 {
			want = [3]int{3, 5, 2}
		}
		require.Equal(t, want, tableRows(t, db, fmt.Sprintf("where thread_id = 't%03d'", i)), "t%03d", i)
	}
	require.Equal(t, 4, count(t, db, "select (value -> 'threads')::int from langgraph.settings where key = 'sweep'"))

	exec(t, db, "call langgraph.sweep(2)")
	require.Equal(t, contents(t, alone), contents(t, db))
	require.Equal(t, 5, count(t, db, "select (value -> 'threads')::int from langgraph.settings where key = 'sweep'"),
		"it went on with the batch that was rolled back")
}

func TestASweepThatIsEndedAgainAndAgainComesToTheSameEnd(t *testing.T) {
	t.Parallel()
	alone, db := patientPool(t), patientPool(t)
	for _, pool := range []*pgxpool.Pool{alone, db} {
		chains(t, pool, 12, 11)
		exec(t, pool, keepOneSQL)
	}
	exec(t, alone, "call langgraph.sweep()")
	ends := 0
	for done := false; !done; {
		sweeper := newSession(t, db)
		swept := sweeper.start(t, "call langgraph.sweep(1)")
		select {
		case <-sweeper.notices: // a batch is committed; the next is under way
			exec(t, db, fmt.Sprintf("select pg_terminate_backend(%d)", sweeper.PgConn().PID()))
			if err := <-swept; err != nil {
				requireState(t, "57P01", err)
				ends++
			}
		case err := <-swept:
			require.NoError(t, err)
		}
		done = count(t, db, "select (value -> 'done')::boolean::int from langgraph.settings where key = 'sweep'") == 1
	}
	require.Positive(t, ends)
	require.Equal(t, contents(t, alone), contents(t, db))
}

func TestPruningAThreadWaitsForWhoeverCopiesItAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	const (
		prune     = "select langgraph.prune(array['t000'], p_keep => 1)"
		pruneAll  = "select langgraph.prune(array['t000'], 'delete')"
		fork      = "select langgraph.fork_checkpoint('t000', '', '000003', '000099')"
		forkCopy  = "select langgraph.fork_checkpoint('t000', '', '000003', '000099', p_copy_blobs => true)"
		forkAll   = "select langgraph.fork_thread('t000', '000003', 'copy')"
		copyAll   = "select langgraph.copy_thread('t000', 'copy')"
		pin       = "select langgraph.pin_checkpoint('t000', '', '000003')"
		deleteRun = "select langgraph.delete_for_runs(array['none', 'run'])"
	)
	for _, c := range []struct {
		first, second string
		refused       string // of the second
		thread, id    string // what has to be there in the end, and read back
	}{
		{first: prune, second: fork, refused: "LG001"},
		{first: prune, second: forkCopy, refused: "LG001"},
		{first: prune, second: forkAll, refused: "LG001"},
		{first: prune, second: pin, refused: "LG001"},
		{first: prune, second: copyAll, thread: "copy", id: "000012"},
		{first: pruneAll, second: fork, refused: "LG001"},
		{first: pruneAll, second: copyAll},
		{first: fork, second: prune, thread: "t000", id: "000099"},
		{first: forkCopy, second: prune, thread: "t000", id: "000099"},
		{first: forkAll, second: pruneAll, thread: "copy", id: "000003"},
		{first: copyAll, second: pruneAll, thread: "copy", id: "000012"},
		{first: pin, second: prune, thread: "t000", id: "000003"},
		{first: pin, second: pruneAll, thread: "t000", id: "000003"},
		{first: deleteRun, second: fork, refused: "LG001"},
		{first: pin, second: deleteRun, thread: "t000", id: "000003"},
	} {
		t.Run(c.first+" first, then "+c.second, func(t *testing.T) {
			t.Parallel()
			db := patientPool(t)
			chains(t, db, 1, 12)
			exec(t, db, "update langgraph.checkpoints set metadata = metadata || '{\"run_id\": \"run\"}' where checkpoint_id <= '000005'")
			one, other := newSession(t, db), newSession(t, db)
			tx, err := one.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), c.first)
			require.NoError(t, err)
			ended := other.start(t, c.second)
			requireBlocked(t, db, other)
			require.NoError(t, tx.Commit(t.Context()))
			if err := <-ended; c.refused != "" {
				requireState(t, c.refused, err)
			} else {
				require.NoError(t, err)
			}
			if c.thread != "" {
				state, _, err := readState(t.Context(), db, c.thread, &c.id)
				require.NoError(t, err)
				want := 12
				if c.id != "000012" {
					want = 3
				}
				require.Equal(t, chainState(want), state)
			}
			requireSound(t, db)
		})
	}
}

func TestRetentionInATransactionWithAnOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			db := patientPool(t)
			chains(t, db, 1, 12)
			for _, removal := range []string{
				"select langgraph.prune(array['t000'])", "select langgraph.prune(array['t000'], 'delete')",
				"select langgraph.delete_for_runs(array['run'])",
			} {
				exec(t, db, `update langgraph.checkpoints set metadata = metadata || '{"run_id": "run"}' where checkpoint_id = '000003'`)
				tx, err := db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				require.NoError(t, err)
				_, err = tx.Exec(t.Context(), removal)
				requireState(t, "LG002", err)
				require.NoError(t, tx.Rollback(t.Context()))
			}
			require.Equal(t, [3]int{12, 15, 11}, tableRows(t, db, ""))

			tx, err := db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			require.NoError(t, err)
			var dry int
			require.NoError(t, tx.QueryRow(t.Context(),
				"select checkpoints from langgraph.prune(array['t000'], p_dry_run => true)").Scan(&dry))
			require.Equal(t, 9, dry, "looking is allowed")
			require.NoError(t, tx.Rollback(t.Context()))

			tx, err = db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "select from langgraph.checkpoints")
			require.NoError(t, err)
			exec(t, db, "select langgraph.prune(array['t000'])")
			_, err = tx.Exec(t.Context(), "select langgraph.fork_checkpoint('t000', '', '000003', '000099')")
			requireState(t, "40001", err)
			require.NoError(t, tx.Rollback(t.Context()))
			requireSound(t, db)
		})
	}
}

func TestPruningForkingAndCopyingAtOnce(t *testing.T) {
	t.Parallel()
	db := patientPool(t, func(config *pgxpool.Config) { config.MaxConns = 10 })
	const steps = 30
	threads := chains(t, db, 3, steps)
	before := map[string]string{}
	for n := 1; n <= steps; n++ {
		id := fmt.Sprintf("%06d", n)
		state, _, err := readState(t.Context(), db, threads[0], &id)
		require.NoError(t, err)
		before[id] = values(state)
	}
	// Losing the race is no failure; a deadlock, a unique violation or anything else is.
	tolerated := func(err error, codes ...string) error {
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) && slices.Contains(codes, pgErr.Code) {
			return nil
		}
		return err
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	runAll(t, 7, func(i int) error {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for round := range 15 {
			thread := threads[random.IntN(len(threads))]
			var err error
			switch i {
			case 0, 1:
				_, err = db.Exec(t.Context(), "select langgraph.prune($1, p_keep => $2, p_keep_heads => $3)",
					[]string{threads[2], threads[0], threads[1]}, 1+random.IntN(28), random.IntN(2) == 0)
			case 2, 3:
				_, err = db.Exec(t.Context(), "select langgraph.fork_checkpoint($1, '', $2, p_copy_blobs => $3)",
					thread, fmt.Sprintf("%06d", 1+random.IntN(steps)), random.IntN(2) == 0)
				err = tolerated(err, "LG001")
			case 4:
				_, err = db.Exec(t.Context(), "select langgraph.copy_thread($1, $2)", thread, fmt.Sprintf("copy %d", round))
			case 5:
				_, err = db.Exec(t.Context(), "select langgraph.fork_thread($1, $2, $3)", thread,
					fmt.Sprintf("%06d", 1+random.IntN(steps)), fmt.Sprintf("fork %d", round))
				err = tolerated(err, "LG001")
			default: // in both directions, so that who locks in another order than the rest would deadlock
				source, target := "x", "y"
				if round%2 == 0 {
					source, target = target, source
				}
				_, err = db.Exec(t.Context(), "select langgraph.copy_thread($1, $2)", source, target)
				err = tolerated(err, "LG002")
			}
			if err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	})
	requireSound(t, db)
	requireNothingLost(t, db, before)
}

// requireNothingLost requires that every checkpoint, wherever it was copied to, reads back as it did, and every fork as its
// target.
func requireNothingLost(t *testing.T, db *pgxpool.Pool, before map[string]string) {
	t.Helper()
	rows, err := db.Query(t.Context(), "select thread_id, checkpoint_id, (metadata -> 'step')::int from langgraph.checkpoints")
	require.NoError(t, err)
	type row struct {
		Thread, ID string
		Step       int
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, r := range all {
		state, _, err := readState(t.Context(), db, r.Thread, &r.ID)
		require.NoError(t, err)
		if want, ok := before[r.ID]; ok {
			require.Equal(t, want, values(state), "%s %s", r.Thread, r.ID)
			continue
		}
		require.Contains(t, slices.Collect(maps.Values(before)), values(state), "fork %s of %s", r.ID, r.Thread)
	}
}

func TestSweepLeavesAThreadThatSomeoneElsePrunesForTheNextTime(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	chains(t, db, 3, 11)
	exec(t, db, keepOneSQL)
	holder := newSession(t, db)
	hold, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "select langgraph.lock_thread('t001')")
	require.NoError(t, err)
	exec(t, db, "call langgraph.sweep()")
	require.Equal(t, [3]int{2, 4, 1}, tableRows(t, db, "where thread_id = 't000'"))
	require.Equal(t, [3]int{11, 14, 10}, tableRows(t, db, "where thread_id = 't001'"))
	require.Equal(t, [3]int{2, 4, 1}, tableRows(t, db, "where thread_id = 't002'"))
	require.NoError(t, hold.Commit(t.Context()))
	exec(t, db, "call langgraph.sweep()")
	require.Equal(t, [3]int{2, 4, 1}, tableRows(t, db, "where thread_id = 't001'"))
}

func TestADamagedThreadDoesNotKeepOthersFromBeingSwept(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	chains(t, db, 3, 11)
	exec(t, db, keepOneSQL)
	exec(t, db, `update langgraph.checkpoints set checkpoint = checkpoint || '{"channel_versions": "damaged"}'
		where thread_id = 't001' and checkpoint_id = '000011'`)
	s := newSession(t, db)
	_, err := s.Exec(t.Context(), "call langgraph.sweep()")
	require.NoError(t, err)
	require.Contains(t, <-s.notices, "thread t001 is damaged and was left alone")
	require.Equal(t, [3]int{2, 4, 1}, tableRows(t, db, "where thread_id = 't000'"))
	require.Equal(t, [3]int{11, 14, 10}, tableRows(t, db, "where thread_id = 't001'"))
	require.Equal(t, [3]int{2, 4, 1}, tableRows(t, db, "where thread_id = 't002'"))
}
