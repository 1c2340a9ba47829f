package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func removedRows(t *testing.T, document string) []removed {
	t.Helper()
	var rows []removed
	require.NoError(t, json.Unmarshal([]byte(document), &rows))
	return rows
}

// withoutBytes is for goldens: compressed sizes differ between servers.
func withoutBytes(rows []removed) []removed {
	for i := range rows {
		rows[i].Bytes = 0
	}
	return rows
}

func TestPruningIsCountedThenConfirmedThenDone(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("a", 4, nil)
	d.saveLine("线程", 3, nil)
	want := []removed{{ThreadID: "a", Checkpoints: 3, Blobs: 3}, {ThreadID: "线程", Checkpoints: 2, Blobs: 2}}
	all := func() int { return d.count("checkpoints", "true") }

	dry := sh.run("prune", "a", "线程", "--dry-run")
	require.Equal(t, cli.ExitOK, dry.code)
	require.Equal(t, "dry run: nothing was removed\n", dry.stderr)
	require.Contains(t, dry.stdout, "THREAD  CHECKPOINTS  VALUES  WRITES")
	require.Contains(t, dry.stdout, "\n线程              2       2       0")
	require.Contains(t, dry.stdout, "\ntotal             5       5       0")
	require.Equal(t, want, withoutBytes(removedRows(t, sh.output("prune", "a", "线程", "--dry-run", "--json"))))
	require.Equal(t, 7, all())

	refused := sh.run("prune", "a", "线程")
	require.Equal(t, cli.ExitUsage, refused.code, "without a terminal it refuses")
	require.Contains(t, refused.stderr, "this removes 5 checkpoints, 5 values and 0 writes (")
	require.Contains(t, refused.stderr, "say --yes if that is meant")

	for _, answer := range []string{"yes\n", "4\n", "\n", ""} {
		wrong := shell{t: t, env: sh.env, terminal: true, input: answer}.run("prune", "a", "线程")
		require.Equal(t, cli.ExitFailed, wrong.code)
		require.Contains(t, wrong.stderr, "\n线程              2       2       0", "what would go is shown before the question")
		require.Contains(t, wrong.stderr, "Type the number of checkpoints to go on: ")
		require.Empty(t, wrong.stdout)
	}
	require.Equal(t, 7, all())

	right := shell{t: t, env: sh.env, terminal: true, input: "5\n"}.run("prune", "a", "线程", "--json")
	require.Equal(t, cli.ExitOK, right.code, right.stderr)
	require.Equal(t, want, withoutBytes(removedRows(t, right.stdout)))
	require.Equal(t, 2, all())
	require.Equal(t, 2, d.count("checkpoint_blobs", "true"))

	again := sh.run("prune", "a", "线程")
	require.Equal(t, cli.ExitOK, again.code, "there is nothing to ask about")
	require.Contains(t, again.stderr, "nothing to remove")
}

func TestPruningKeepsWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	left := func() []string {
		rows, err := d.conn.Query(t.Context(), "select checkpoint_id from langgraph.checkpoints where checkpoint_ns = '' order by 1")
		require.NoError(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return ids
	}
	sh.output("pin", insurance, "ckpt_001", "--reason", "投诉")
	got := sh.run("prune", insurance, "--keep", "1", "--keep-heads", "--yes")
	require.Equal(t, cli.ExitOK, got.code, got.stderr)
	require.Contains(t, got.stderr, "kept: 1 checkpoint that")
	require.Equal(t, []string{"ckpt_001", "ckpt_003", "ckpt_005"}, left())

	sh.output("unpin", insurance, "ckpt_001")
	sh.output("prune", insurance, "--keep", "2", "--yes")
	require.Equal(t, []string{"ckpt_003", "ckpt_005"}, left())
	sh.output("prune", insurance, "--delete", "--yes")
	require.Empty(t, left())
	require.Contains(t, sh.output("prune", insurance, "--delete", "--yes"), insurance, "a thread that is gone loses nothing")

	for _, flags := range [][]string{{"--keep", "3"}, {"--keep-heads"}} {
		refused := sh.fails(cli.ExitUsage, append([]string{"prune", insurance, "--delete", "--yes"}, flags...)...)
		require.Contains(t, refused, "--delete keeps nothing")
	}
}

func TestRunsAreDeletedInEveryThread(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("a", 2, checkpoint.Metadata{"run_id": "r1"})
	d.saveLine("b", 1, checkpoint.Metadata{"run_id": "r1"})
	d.saveLine("c", 1, checkpoint.Metadata{"run_id": "r2"})
	want := []removed{{ThreadID: "a", Checkpoints: 2, Blobs: 2}, {ThreadID: "b", Checkpoints: 1, Blobs: 1}}
	require.Equal(t, want, withoutBytes(removedRows(t, sh.output("delete-runs", "r1", "r9", "--dry-run", "--json"))))
	require.Equal(t, 4, d.count("checkpoints", "true"))
	require.Contains(t, sh.fails(cli.ExitUsage, "delete-runs", "r1"), "this removes 3 checkpoints")
	require.Contains(t, sh.output("delete-runs", "r1", "--yes"), "total             3")
	require.Equal(t, 1, d.count("checkpoints", "true"))
	none := sh.run("delete-runs", "r9")
	require.Equal(t, result{stderr: "nothing to remove\n"}, none)
	require.Equal(t, "[]\n", sh.output("delete-runs", "r9", "--json"))
}

func TestASweepAppliesThePolicies(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("trial-1", 3, nil)
	d.saveLine("other", 3, nil)
	sh.output("policy", "set", "trials", "--thread-pattern", "trial-%", "--keep-last", "1")
	want := []removed{{ThreadID: "trial-1", Checkpoints: 2, Blobs: 2}}
	require.Equal(t, want, withoutBytes(removedRows(t, sh.output("sweep", "--dry-run", "--json"))))
	require.Equal(t, 6, d.count("checkpoints", "true"))

	got := sh.run("sweep")
	require.Equal(t, cli.ExitOK, got.code, got.stderr)
	require.Contains(t, got.stdout, "looked at 2 threads; removed 2 checkpoints (4 rows, ")
	require.Contains(t, got.stdout, ") and 0 store items\n")
	require.Contains(t, got.stderr, "sweep: 2 threads looked at, 2 checkpoints")
	require.Equal(t, 4, d.count("checkpoints", "true"))

	d.requireSame(sh.output("sweep", "--json"), "select value from langgraph.settings where key = 'sweep'")
	require.Equal(t, result{stdout: "", stderr: "dry run: nothing was removed\n"}, sh.run("sweep", "--dry-run"))
}

func TestASweepStopsAtItsDuration(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	for _, thread := range []string{"a", "b"} {
		d.saveLine(thread, 2, nil)
	}
	sh.output("policy", "set", "all", "--keep-last", "1")
	require.Contains(t, sh.output("sweep", "--batch-size", "1", "--max-duration", "0 seconds"),
		"not finished; the next sweep goes on after thread a\n")
	require.Equal(t, 3, d.count("checkpoints", "true"))
	require.Contains(t, sh.output("sweep", "--batch-size", "1"), "removed 1 checkpoint (2 rows, ")
	require.Equal(t, 2, d.count("checkpoints", "true"))
}

func TestASecondSweepLeavesTheWorkToTheFirst(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("a", 1, nil)
	d.exec("begin")
	d.exec("select pg_advisory_xact_lock(hashtextextended('pgweft sweep', 7069))")
	got := sh.run("sweep")
	require.Equal(t, cli.ExitOK, got.code, got.stderr)
	require.Equal(t, "no batch was finished; nothing was removed\n", got.stdout)
	require.Contains(t, got.stderr, "another sweep is running")
	require.Equal(t, "null\n", sh.output("sweep", "--json"))
	d.exec("rollback")
}

// heard tells when a text was written.
type heard struct {
	text string
	once chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	if strings.Contains(string(p), h.text) {
		select {
		case h.once <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

func (h *heard) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.once:
	case <-time.After(time.Minute):
		require.Fail(t, "never heard "+h.text)
	}
}

func newHeard(text string) *heard { return &heard{text: text, once: make(chan struct{}, 1)} }

func TestACancelledSweepSaysWhatWasDoneAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	for _, thread := range []string{"a", "b", "c"} {
		d.saveLine(thread, 2, nil)
	}
	sh.output("policy", "set", "all", "--keep-last", "1")
	// The second batch waits for this row.
	d.exec("begin")
	d.exec("select from langgraph.checkpoints where thread_id = 'b' for update")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	firstBatch := newHeard("sweep: 1 threads looked at")
	sh.stderr = firstBatch
	done := make(chan result, 1)
	go func() { done <- sh.runContext(ctx, "sweep", "--batch-size", "1") }()
	firstBatch.wait(t)
	cancel()
	got := <-done
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.stdout, "looked at 1 thread; removed 1 checkpoint (2 rows, ")
	require.Contains(t, got.stdout, "not finished; the next sweep goes on after thread a\n")
	require.Contains(t, got.stderr, "pgweft: cancelled: ")
	d.exec("rollback")
	require.Equal(t, 0, d.count("checkpoints", "thread_id = 'a' and checkpoint_id = 'ckpt_001'"))
	require.Equal(t, 4, d.count("checkpoints", "thread_id in ('b', 'c')"), "the batch under way was rolled back")

	sh.stderr = nil
	require.Contains(t, sh.output("sweep", "--batch-size", "1"), "removed 2 checkpoints (4 rows, ")
	require.Equal(t, 3, d.count("checkpoints", "true"))
}

func TestPoliciesTTLsAndPinsAreSetListedAndTakenAway(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	nothing := sh.run("policy", "list")
	require.Equal(t, result{stderr: "no retention policies: \"pgweft policy set\" makes one\n"}, nothing)
	require.JSONEq(t, `{"retention_policies": [], "thread_ttls": [], "checkpoint_pins": []}`, sh.output("policy", "list", "--json"))

	require.Equal(t, "policy 试用 is set; \"pgweft sweep --dry-run\" shows what would go\n",
		sh.output("policy", "set", "试用", "--thread-pattern", "trial-%", "--idle-ttl", "14 days"))
	sh.output("policy", "set", "default", "--metadata-filter", `{"env": "test"}`, "--max-age", "90 days", "--keep-last", "50", "--disabled")
	require.Equal(t, "thread 保险-42 goes after 12h without activity\n", sh.output("ttl", insurance, "12h"))
	require.Equal(t, "checkpoint ckpt_004 of thread 保险-42 is pinned\n",
		sh.output("pin", insurance, "ckpt_004", "--namespace", research, "--reason", "投诉 117"))

	list := sh.output("policy", "list")
	require.Contains(t, list, golden(`
		POLICY   THREADS  METADATA         IDLE TTL  MAX AGE  KEEP LAST  ENABLED
		──────────────────────────────────────────────────────────────────────────
		default  all      {"env": "test"}  -         90 days         50  no
		试用     trial-%  any              14 days   -                -  yes
		`))
	require.Contains(t, list, "\n保险-42  12:00:00  ")
	require.Contains(t, list, "\n保险-42        research:5f3c  ckpt_004    投诉 117  ")
	d.requireSame(sh.output("policy", "list", "--json"), `
		select jsonb_build_object(
			'retention_policies', (select jsonb_agg(to_jsonb(p) order by name) from langgraph.retention_policies p),
			'thread_ttls', (select jsonb_agg(to_jsonb(t)) from langgraph.thread_ttls t),
			'checkpoint_pins', (select jsonb_agg(to_jsonb(p)) from langgraph.checkpoint_pins p))`)

	require.Equal(t, "policy default is dropped\n", sh.output("policy", "drop", "default"))
	require.JSONEq(t, `{"result": "thread 保险-42 has no TTL of its own"}`, sh.output("ttl", insurance, "none", "--json"))
	sh.output("unpin", insurance, "ckpt_004", "--namespace", research)
	require.Equal(t, 1, d.count("retention_policies", "true"))
	require.Zero(t, d.count("thread_ttls", "true"))
	require.Zero(t, d.count("checkpoint_pins", "true"))

	require.Contains(t, sh.fails(cli.ExitFailed, "policy", "drop", "default"), `there is no policy "default"`)
	require.Contains(t, sh.fails(cli.ExitFailed, "unpin", insurance, "ckpt_004"), `is not pinned`)
}

func TestFsckNamesWhatIsBrokenAndWhatMendsIt(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	require.Equal(t, result{stdout: "nothing wrong found\n"}, sh.run("fsck"))
	require.Equal(t, result{stdout: "[]\n"}, sh.run("fsck", insurance, "--json"))

	d.exec(`delete from langgraph.checkpoint_blobs where channel = 'found'`)
	d.exec(`update langgraph.checkpoint_blobs set blob = '\xdc' where channel = 'context'`)
	d.exec(`update langgraph.checkpoints set parent_checkpoint_id = 'lost' where checkpoint_id = 'ckpt_004'`)
	shallow := sh.run("fsck", insurance)
	require.Equal(t, cli.ExitFailed, shallow.code)
	require.Equal(t, "pgweft: 2 problems found\n", shallow.stderr)
	require.Contains(t, shallow.stdout, "missing value   thread 保险-42           Version ")
	require.Contains(t, shallow.stdout, "\n                checkpoint ckpt_003      rebuild_blobs('保险-42', '', 'ckpt_003') recovers")
	require.Contains(t, shallow.stdout, "\n                channel found\n")
	require.Contains(t, shallow.stdout, "missing parent  thread 保险-42           Its parent lost does not exist.\n"+
		"                namespace research:5f3c  Harmless")
	require.NotContains(t, shallow.stdout, "damaged value")

	deep := sh.run("fsck", "--deep", "--json")
	require.Equal(t, cli.ExitFailed, deep.code)
	require.Equal(t, "pgweft: 3 problems found\n", deep.stderr)
	d.requireSame(deep.stdout, "select jsonb_agg(to_jsonb(f)) from langgraph.fsck(null, true) f")

	narrow := shell{t: t, env: map[string]string{"DATABASE_URL": sh.env["DATABASE_URL"], "NO_COLOR": "1"}, columns: 90}.run("fsck")
	require.Contains(t, narrow.stdout, "rebuild_blobs('保险-42', '', 'ckpt_003')\n", "wrapped between words")
}

func TestLongWorkSaysThatItGoesOn(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.exec("begin")
	d.exec("lock langgraph.checkpoints in access exclusive mode")
	goesOn := newHeard("still looking (")
	sh.stderr, sh.patience = goesOn, time.Millisecond
	done := make(chan result, 1)
	go func() { done <- sh.run("fsck") }()
	goesOn.wait(t)
	d.exec("rollback")
	got := <-done
	require.Equal(t, cli.ExitOK, got.code, got.stderr)
	require.Equal(t, "nothing wrong found\n", got.stdout)
}

func TestACommandThatIsCancelledStopsOnTheServerToo(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("a", 3, nil)
	d.exec("begin")
	d.exec("select from langgraph.checkpoints where thread_id = 'a' for update")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goesOn := newHeard("still removing (")
	sh.stderr, sh.patience = goesOn, time.Millisecond
	done := make(chan result, 1)
	go func() { done <- sh.runContext(ctx, "prune", "a", "--yes") }()
	goesOn.wait(t)
	cancel()
	got := <-done
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.stderr, "pgweft: cancelled: ")
	require.Empty(t, got.stdout)
	var working int
	require.NoError(t, d.conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'pgweft' and state = 'active'`).Scan(&working))
	require.Zero(t, working)
	d.exec("rollback")
	require.Equal(t, 3, d.count("checkpoints", "true"))
}

func TestAQuestionCanBeInterrupted(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("a", 3, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := newHeard("Type the number")
	stdin, keyboard := io.Pipe()
	t.Cleanup(func() { require.NoError(t, keyboard.Close()) })
	var stderr buffer
	stderr.also = asked
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"prune", "a"}, environment{
			Environment: cli.Environment{
				Getenv:      func(name string) string { return sh.env[name] },
				Interactive: func() bool { return true },
				Columns:     func() int { return 0 },
				Stdin:       stdin, Stdout: io.Discard, Stderr: &stderr,
			},
			now: time.Now, patience: time.Hour,
		})
	}()
	asked.wait(t)
	cancel()
	require.Equal(t, cli.ExitFailed, <-code)
	require.Contains(t, stderr.text.String(), "cancelled: read the answer")
	require.Equal(t, 3, d.count("checkpoints", "true"))
}
