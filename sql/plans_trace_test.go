package sql_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// tables are those that grow with what agents save: no call may read one of them from end to end.
var tables = []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes", "store"}

// tracer is a session in which auto_explain reports the plan of every statement, those inside functions included, with the
// rows and pages that it really read.
type tracer struct {
	*pgx.Conn
	plans []plan
	err   error
}

// plan is one statement as auto_explain reports it.
type plan struct {
	Query string          `json:"Query Text"`
	Root  planNode        `json:"Plan"`
	JIT   json.RawMessage `json:"JIT"`
	// Settings are those that differ from what the server came with, of those that bear on plans.
	Settings map[string]string `json:"Settings"`
}

// planNode is one node of a plan: rows are per loop.
type planNode struct {
	Type       string     `json:"Node Type"`
	Relation   string     `json:"Relation Name"`
	Index      string     `json:"Index Name"`
	Cost       float64    `json:"Total Cost"`
	Rows       float64    `json:"Actual Rows"`
	Loops      float64    `json:"Actual Loops"`
	Filtered   float64    `json:"Rows Removed by Filter"`
	Rechecked  float64    `json:"Rows Removed by Index Recheck"`
	Hit        int        `json:"Shared Hit Blocks"`
	Read       int        `json:"Shared Read Blocks"`
	NodesBelow []planNode `json:"Plans"`
}

// work is what a call did in the tables.
type work struct {
	plans []plan
	rows  int      // rows and index entries read, whether they were kept or not
	pages int      // pages of tables and indexes touched while reading them
	scans []string // tables read from end to end, with the statements that did
}

// newTracer opens such a session. auto_explain is part of every Postgres distribution (contrib).
func newTracer(t *testing.T, connString string) *tracer {
	t.Helper()
	config, err := pgx.ParseConfig(connString)
	require.NoError(t, err)
	tr := &tracer{}
	config.RuntimeParams["statement_timeout"] = "120s"
	config.RuntimeParams["lc_messages"] = "C" // "plan:" is translated
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { tr.notice(notice.Message) }
	tr.Conn, err = pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close(t.Context())) })
	exec(t, tr, "load 'auto_explain'")
	for _, setting := range []string{
		"log_level = notice", "log_analyze = on", "log_buffers = on", "log_timing = off", "log_nested_statements = on",
		"log_format = json", "log_settings = on", "log_min_duration = -1",
	} {
		exec(t, tr, "set auto_explain."+setting)
	}
	return tr
}

func (tr *tracer) notice(message string) {
	_, text, isPlan := strings.Cut(message, "plan:\n")
	if !isPlan {
		return
	}
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		tr.err = fmt.Errorf("%w: %s", err, text)
	}
	tr.plans = append(tr.plans, p)
}

// planModes are values of plan_cache_mode, with how many calls it takes until plans have settled: where Postgres chooses, a
// statement gets its generic plan, if it is to be, at the sixth.
var planModes = []planMode{{"auto", 6}, {"force_custom_plan", 1}, {"force_generic_plan", 1}}

type planMode struct {
	name  string
	calls int
}

// trace makes a call so many times and reports the work of one more. Whatever it changes is rolled back.
func (tr *tracer) trace(t *testing.T, calls int, sql string, args pgx.NamedArgs) work {
	t.Helper()
	for range calls {
		tr.call(t, sql, args)
	}
	tr.plans, tr.err = nil, nil
	exec(t, tr, "set auto_explain.log_min_duration = 0")
	tr.call(t, sql, args)
	exec(t, tr, "set auto_explain.log_min_duration = -1")
	require.NoError(t, tr.err, "a plan that is no JSON")
	require.NotEmpty(t, tr.plans, "auto_explain reports plans")
	return workOf(tr.plans)
}

func (tr *tracer) call(t *testing.T, sql string, args pgx.NamedArgs) {
	t.Helper()
	inTx(t, tr, func(tx pgx.Tx) { require.NoError(t, attempt(t.Context(), tx, sql, args), sql) })
}

func workOf(plans []plan) work {
	w := work{plans: plans}
	for _, p := range plans {
		w.add(p.Query, p.Root)
	}
	return w
}

func (w *work) add(query string, n planNode) {
	pages := n.Hit + n.Read
	for _, below := range n.NodesBelow {
		w.add(query, below)
		pages -= below.Hit + below.Read
	}
	isScan := strings.HasSuffix(n.Type, "Scan") && (slices.Contains(tables, n.Relation) || n.Index != "")
	// What a bitmap leads to was counted where its entries were read, as an index scan counts an entry and its row once.
	if isScan && n.Type != "Bitmap Heap Scan" {
		w.rows += int((n.Rows + n.Filtered + n.Rechecked) * n.Loops)
	}
	if isScan || n.Type == "ModifyTable" {
		w.pages += pages
	}
	if n.Type == "Seq Scan" && isScan && n.Loops > 0 {
		w.scans = append(w.scans, n.Relation+": "+strings.Join(strings.Fields(query), " "))
	}
}

// inside are the plans of statements in functions: all but that of the call itself, which ends last.
func (w *work) inside() []plan { return w.plans[:len(w.plans)-1] }

// readers are the statements that read most, for messages.
func (w *work) readers() string {
	type reader struct {
		rows  int
		query string
	}
	var all []reader
	for _, p := range w.plans {
		one := workOf([]plan{p})
		all = append(all, reader{one.rows, strings.Join(strings.Fields(p.Query), " ")})
	}
	slices.SortStableFunc(all, func(a, b reader) int { return b.rows - a.rows })
	var text strings.Builder
	for _, r := range all[:min(3, len(all))] {
		fmt.Fprintf(&text, "\n%d rows: %.700s", r.rows, r.query)
	}
	return text.String()
}
