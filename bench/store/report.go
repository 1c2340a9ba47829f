package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// recallTarget is the recall that our side has to reach in every cell.
const recallTarget = 0.98

// results is all that a run found out.
type results struct {
	Options        options           `json:"options"`
	Machine        measuring.Machine `json:"machine"`
	Search         []cell            `json:"search,omitempty"`
	NamespaceCount int               `json:"namespaces,omitempty"`
	Namespaces     []namespaceCase   `json:"namespace_cases,omitempty"`
}

// settings are those of the server that times depend on.
var settings = []string{"shared_buffers", "work_mem", "effective_cache_size", "random_page_cost", "jit"}

// check is what has to hold on a machine however busy.
func (r *results) check() error {
	var errs []error
	for _, c := range r.Search {
		if c.Ours.Complete < 1 {
			errs = append(errs, fmt.Errorf("namespace %s, filter %s: %.2f rows of %.2f", c.Namespace, c.Filter, c.Ours.Rows, c.Wanted))
		}
		if c.Ours.Recall < recallTarget {
			errs = append(errs, fmt.Errorf("namespace %s, filter %s: recall %.4f, below %.2f", c.Namespace, c.Filter, c.Ours.Recall, recallTarget))
		}
	}
	return errors.Join(errs...)
}

// met says where a cell stands against the target.
func (c cell) met() string {
	var missed []string
	if c.Ours.Complete < 1 {
		missed = append(missed, "rows")
	}
	if c.Ours.Recall < recallTarget {
		missed = append(missed, "recall")
	}
	if c.Theirs.Complete == 1 && c.Ours.P95 > c.Theirs.P95 {
		missed = append(missed, fmt.Sprintf("p95 %.2f times", c.Ours.P95/c.Theirs.P95))
	}
	if len(missed) > 0 {
		return strings.Join(missed, ", ")
	}
	return "met"
}

func (r *results) write(out io.Writer, jsonPath, markdownPath string) error {
	report := r.markdown()
	if _, err := io.WriteString(out, report); err != nil {
		return err
	}
	if markdownPath != "" {
		if err := os.WriteFile(markdownPath, []byte(report), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	if jsonPath == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(jsonPath, append(text, '\n'), 0o644) //nolint:gosec // for everybody to read
}

func (r *results) markdown() string {
	var text strings.Builder
	w := bufio.NewWriter(&text)
	fmt.Fprintf(w, "# Search of the store, measured\n\nWritten by `make bench-store`; do not edit. \"LangGraph\" is the query that "+
		"LangGraph's PostgresStore sends (langgraph-checkpoint-postgres 3.2), on tables and indexes as its migrations make them. Both "+
		"have the same rows, server and kind of connection (one each, prepared statements), and get the same queries in turns. "+
		"Times are what the client waits, in milliseconds.\n\n%s\n", r.Machine)
	if len(r.Search) > 0 {
		r.writeSearch(w)
	}
	if len(r.Namespaces) > 0 {
		r.writeNamespaces(w)
	}
	_ = w.Flush() // to a strings.Builder, which takes everything
	return text.String()
}

func (r *results) writeSearch(w *bufio.Writer) {
	o := r.Options
	fmt.Fprintf(w, "\n## Vector search with limit %d\n\n"+
		"%d items with one vector of %d dimensions each (seed %d), cosine distance, HNSW with pgvector's default m and "+
		"ef_construction, built after loading; %d queries a cell. The vectors form %d topics of %d subtopics, with variances falling "+
		"as 1/n from axis to axis. Namespaces and filters say nothing about the vector, except the filter \"one topic\", "+
		"which keeps items of one topic whatever the query is about. Half of the queries are about something that the namespace has, "+
		"half about anything. Recall is against exact search outside of the database. Complete is the share of queries that returned "+
		"%d rows, or all that match. CPU is the mean processor time of the connection's server process for a query, without parallel workers; others on "+
		"the machine disturb it least. Index is how often a query uses the vector index.\n\n",
		limit, o.Items, o.Dims, o.Seed, o.Queries, topics, subtopics, limit)
	fmt.Fprint(w, "| namespace | filter | matching | pgweft recall | complete | rows | p50 | p95 | CPU | index "+
		"| LangGraph recall | complete | rows | p50 | p95 | CPU | index | target |\n"+
		"|---|---|---:|"+strings.Repeat("---:|", 2*7)+"---|\n")
	for _, c := range r.Search {
		fmt.Fprintf(w, "| %s | %s | %.0f ", c.Namespace, c.Filter, c.Matching)
		for _, s := range []searchStats{c.Ours, c.Theirs} {
			fmt.Fprintf(w, "| %.3f | %.0f %% | %.1f | %.2f | %.2f | %.2f | %.1f ", s.Recall, 100*s.Complete, s.Rows, s.P50, s.P95, s.CPU, s.Indexed)
		}
		fmt.Fprintf(w, "| %s |\n", c.met())
	}
	fmt.Fprintf(w, "\nTarget: every query complete, recall at least %.2f, and p95 no worse than LangGraph's where all of its queries "+
		"are complete.\n", recallTarget)
}

func (r *results) writeNamespaces(w *bufio.Writer) {
	fmt.Fprintf(w, "\n## Namespaces of %d items\n\n%d namespaces, %d calls each. Buffers are the pages of 8 KB that one call looks at.\n\n"+
		"| call | rows | pgweft p50 | p95 | buffers | LangGraph p50 | p95 | buffers |\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
		r.Options.NamespaceItems, r.NamespaceCount, r.Options.NamespaceRuns)
	for _, c := range r.Namespaces {
		fmt.Fprintf(w, "| %s | %d ", c.Name, c.Rows)
		for _, s := range []readStats{c.Ours, c.Theirs} {
			fmt.Fprintf(w, "| %.2f | %.2f | %d ", s.P50, s.P95, s.Buffers)
		}
		fmt.Fprintln(w, "|")
	}
}
