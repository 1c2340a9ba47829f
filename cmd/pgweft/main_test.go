package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) {
	testcontainers.Main(m, testcontainers.WithoutVector(), testcontainers.WithoutFsync())
}

// noon is when every command of the tests runs; what is saved is dated hours before it.
var noon = time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)

// shell runs command lines as a terminal or a script would.
type shell struct {
	t        *testing.T
	env      map[string]string
	input    string
	terminal bool
	columns  int
	patience time.Duration
	// stderr hears what is written to standard error, besides the result; it may be nil.
	stderr io.Writer
}

type result struct {
	code           int
	stdout, stderr string
}

// buffer is a strings.Builder that another goroutine may write to.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
	also io.Writer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.also != nil {
		if n, err := b.also.Write(p); err != nil {
			return n, err
		}
	}
	return b.text.Write(p)
}

func (s shell) run(args ...string) result { return s.runContext(s.t.Context(), args...) }

func (s shell) runContext(ctx context.Context, args ...string) result {
	var stdout strings.Builder
	stderr := buffer{also: s.stderr}
	patience := s.patience
	if patience == 0 {
		patience = time.Hour
	}
	code := run(ctx, args, environment{
		Environment: cli.Environment{
			Getenv:      func(name string) string { return s.env[name] },
			Interactive: func() bool { return s.terminal },
			Columns:     func() int { return s.columns },
			Stdin:       strings.NewReader(s.input),
			Stdout:      &stdout,
			Stderr:      &stderr,
		},
		now:      func() time.Time { return noon },
		patience: patience,
	})
	return result{code: code, stdout: stdout.String(), stderr: stderr.text.String()}
}

// output is what a command that has to succeed writes.
func (s shell) output(args ...string) string {
	s.t.Helper()
	got := s.run(args...)
	require.Equal(s.t, cli.ExitOK, got.code, "%s: %s", args, got.stderr)
	return got.stdout
}

// fails runs a command that has to fail, and gives what it says.
func (s shell) fails(code int, args ...string) string {
	s.t.Helper()
	got := s.run(args...)
	require.Equal(s.t, code, got.code, "%s: %s%s", args, got.stdout, got.stderr)
	return got.stderr
}

// database is a migrated one with a connection to look at it from the side.
type database struct {
	t     *testing.T
	conn  *pgx.Conn
	saver *pgsaver.Saver
}

func newShell(t *testing.T) (shell, *database) {
	t.Helper()
	dsn := testcontainers.NewDatabase(t).ConnString()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return shell{t: t, env: map[string]string{"DATABASE_URL": dsn}}, &database{t, conn, pgsaver.New(conn, nil)}
}

func (d *database) exec(sql string, args ...any) {
	d.t.Helper()
	_, err := d.conn.Exec(d.t.Context(), sql, args...)
	require.NoError(d.t, err)
}

func (d *database) count(table, where string, args ...any) int {
	d.t.Helper()
	var n int
	require.NoError(d.t, d.conn.QueryRow(d.t.Context(), "select count(*) from langgraph."+table+" where "+where, args...).Scan(&n))
	return n
}

// requireSame compares a JSON document with what a query says, field by field.
func (d *database) requireSame(got, query string, args ...any) {
	d.t.Helper()
	var want string
	d.exec("set timezone to utc")
	require.NoError(d.t, d.conn.QueryRow(d.t.Context(), query, args...).Scan(&want))
	require.Empty(d.t, cmp.Diff(parsed(d.t, want), parsed(d.t, got)), "-sql +pgweft")
}

// parsed is JSON with numbers as they are written, and times in one form.
func parsed(t *testing.T, document string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value), document)
	require.False(t, decoder.More(), "one document")
	return normal(value)
}

func normal(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = normal(v[key])
		}
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return value
}

// lines are the lines between which a golden text differs, trimmed of the tabs that indent it in the source.
func golden(text string) string {
	text = strings.TrimPrefix(text, "\n")
	var out bytes.Buffer
	for _, line := range strings.SplitAfter(text, "\n") {
		out.WriteString(strings.TrimPrefix(line, "\t\t"))
	}
	return strings.TrimRight(out.String(), "\t")
}

func requireText(t *testing.T, want, got string) {
	t.Helper()
	require.Empty(t, cmp.Diff(strings.Split(golden(want), "\n"), strings.Split(got, "\n")), "-want +got:\n%s", got)
}

// superstep is a checkpoint to save.
type superstep struct {
	namespace, id, parent string
	source                string
	step                  int
	values                map[string]any
	changed               []string
	metadata              checkpoint.Metadata
}

// history saves supersteps of one thread, as a runtime does: what did not change keeps its version.
type history struct {
	d        *database
	thread   string
	versions map[string]map[string]checkpoint.Version // by namespace and checkpoint
}

func (d *database) thread(id string) *history {
	return &history{d: d, thread: id, versions: map[string]map[string]checkpoint.Version{}}
}

func (h *history) save(s superstep) {
	t := h.d.t
	t.Helper()
	versions, changed := map[string]checkpoint.Version{}, map[string]checkpoint.Version{}
	for channel, version := range h.versions[s.namespace+"/"+s.parent] {
		versions[channel] = version
	}
	for _, channel := range s.changed {
		versions[channel] = checkpoint.NextVersion(versions[channel])
		changed[channel] = versions[channel]
	}
	h.versions[s.namespace+"/"+s.id] = versions
	metadata := checkpoint.Metadata{"source": s.source, "step": s.step, "parents": map[string]any{}}
	for key, value := range s.metadata {
		metadata[key] = value
	}
	config := checkpoint.Config{ThreadID: h.thread, Namespace: s.namespace, CheckpointID: s.parent}
	_, err := h.d.saver.Put(t.Context(), config, &checkpoint.Checkpoint{
		V: 4, ID: s.id, TS: "2026-04-07T10:00:00+00:00", ChannelValues: s.values, ChannelVersions: versions,
		VersionsSeen: map[string]map[string]checkpoint.Version{},
	}, metadata, changed)
	require.NoError(t, err)
}

func (h *history) write(namespace, id, task, node string, writes ...checkpoint.Write) {
	t := h.d.t
	t.Helper()
	config := checkpoint.Config{ThreadID: h.thread, Namespace: namespace, CheckpointID: id}
	require.NoError(t, h.d.saver.PutWrites(t.Context(), config, writes, task, "~__pregel_pull, "+node))
}

// date sets when the checkpoints of a thread were saved: a second after each other, in the order of their ids.
func (h *history) date(from time.Time) {
	h.d.exec(`
		update langgraph.checkpoints c
		set created_at = $2::timestamptz + (n.position - 1) * interval '1 second'
		from (
			select checkpoint_ns, checkpoint_id, row_number() over (order by checkpoint_id) as position
			from langgraph.checkpoints
			where thread_id = $1
		) n
		where c.thread_id = $1 and (c.checkpoint_ns, c.checkpoint_id) = (n.checkpoint_ns, n.checkpoint_id)`, h.thread, from)
}

const (
	insurance = "保险-42"
	research  = "research:5f3c"
)

// saveInsurance is a conversation in Chinese with a fork, and a subgraph that waits for a human:
//
//	ckpt_001 ─ ckpt_002 ┬ ckpt_003
//	                    └ ckpt_005    research:5f3c: ckpt_004
func (d *database) saveInsurance() *history {
	h := d.thread(insurance)
	hello := messages.Human("你好", messages.WithID("m1"))
	welcome := messages.AI("您好!我是您的保险顾问\nWhat are you looking for?", messages.WithID("m2"), messages.WithToolCalls(
		messages.ToolCall{Name: "search_db", Args: ordered.Sorted(map[string]any{"category": "医疗"}), ID: "c1"}))
	advice := messages.Tool("百万医疗,每年399元", "c1", messages.WithID("m3"), messages.WithName("search_db"))
	user := map[string]any{"user_id": "u-17"}

	h.save(superstep{id: "ckpt_001", source: "input", step: -1, metadata: user})
	h.save(superstep{
		id: "ckpt_002", parent: "ckpt_001", source: "loop", metadata: user,
		values: map[string]any{
			"messages": []any{hello, welcome}, "context": map[string]any{"age": 28}, "budget": 5000, "branch:to:search": nil,
		},
		changed: []string{"messages", "context", "budget", "branch:to:search"},
	})
	h.write("", "ckpt_002", "8f14e45f", "search",
		checkpoint.Write{Channel: "messages", Value: []any{advice}},
		checkpoint.Write{Channel: "found", Value: []any{map[string]any{"name": "百万医疗", "price": 399}}})
	h.save(superstep{
		id: "ckpt_003", parent: "ckpt_002", source: "loop", step: 1, metadata: user,
		values: map[string]any{
			"messages": []any{hello, welcome, advice}, "context": map[string]any{"age": 28}, "budget": 5000,
			"found": []any{map[string]any{"name": "百万医疗", "price": 399}},
		},
		changed: []string{"messages", "found", "branch:to:search"},
	})
	h.save(superstep{
		namespace: research, id: "ckpt_004", source: "loop", metadata: checkpoint.Metadata{"parents": map[string]any{"": "ckpt_002"}},
		values: map[string]any{"query": "医疗", "branch:to:rank": nil}, changed: []string{"query", "branch:to:rank"},
	})
	h.write(research, "ckpt_004", "c4ca4238", "rank",
		checkpoint.Write{Channel: checkpoint.ChannelInterrupt, Value: []any{map[string]any{"question": "可以吗?"}}})
	config := checkpoint.Config{ThreadID: insurance, CheckpointID: "ckpt_002"}
	_, err := d.saver.Fork(d.t.Context(), config, checkpoint.ForkOptions{ID: "ckpt_005"})
	require.NoError(d.t, err)
	h.date(noon.Add(-2 * time.Hour))
	return h
}

// saveLine is a thread of so many checkpoints in a row, each with a value of its own.
func (d *database) saveLine(thread string, n int, metadata checkpoint.Metadata) *history {
	h := d.thread(thread)
	parent := ""
	for i := range n {
		id := fmt.Sprintf("ckpt_%03d", i+1)
		h.save(superstep{
			id: id, parent: parent, source: "loop", step: i, metadata: metadata,
			values: map[string]any{"log": []any{i}}, changed: []string{"log"},
		})
		parent = id
	}
	return h
}
