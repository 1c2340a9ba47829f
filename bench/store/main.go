// Command store measures the search of the store: recall against exact search, rows returned and time, beside the query
// that LangGraph's own PostgresStore sends, on the same data, server, kind of connection and index settings; and how much
// list_namespaces and a namespace without a query read.
//
// It needs no configuration: it finds or starts a Postgres with pgvector by itself and removes what it started. The exit
// code is 1 where our side returns too few rows or has a recall below 0.98 in a cell: what does not depend on how busy the
// machine is. Ctrl-C stops it in good order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// options are the sizes of a run and where its results go.
type options struct {
	Seed           uint64 `json:"seed"`
	Items          int    `json:"items"`
	Dims           int    `json:"dims"`
	Queries        int    `json:"queries_per_cell"`
	NamespaceItems int    `json:"namespace_items"`
	NamespaceRuns  int    `json:"namespace_runs"`

	database     string
	part         string
	jsonPath     string
	markdownPath string
}

func main() { measuring.Main("bench/store", run) }

func run(ctx context.Context, args []string, out io.Writer, p *measuring.Progress) (err error) {
	opts, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	newDatabase := func(context.Context) (string, error) { return opts.database, nil }
	if opts.database == "" {
		postgres, err := measuring.StartPostgres(ctx, p, serverSettings)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, measuring.StopPostgres(ctx, postgres)) }()
		newDatabase = func(ctx context.Context) (string, error) {
			database, err := postgres.Clone(ctx) // goes with the server
			if err != nil {
				return "", err
			}
			return database.ConnString(), nil
		}
	}
	results := &results{Options: opts}
	for _, part := range parts {
		if opts.part != "" && opts.part != part.name {
			continue
		}
		databaseURL, err := newDatabase(ctx)
		if err != nil {
			return err
		}
		if err := results.measure(ctx, databaseURL, part, p); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	p.Done()
	if err := results.write(out, opts.jsonPath, opts.markdownPath); err != nil {
		return err
	}
	return results.check()
}

// part is a half of the benchmark, with a database of its own.
type part struct {
	name    string
	measure func(context.Context, *results, *side, *side, *measuring.Progress) error
}

var parts = []part{{"search", measureSearch}, {"namespaces", measureNamespaces}}

func (r *results) measure(ctx context.Context, databaseURL string, part part, p *measuring.Progress) error {
	ours, err := newPgweft(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer ours.close(ctx)
	theirs, err := newLangGraph(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer theirs.close(ctx)
	if r.Machine, err = measuring.Describe(ctx, ours.conn, settings...); err != nil {
		return err
	}
	return part.measure(ctx, r, ours, theirs, p)
}

func parseOptions(args []string, out io.Writer) (options, error) {
	opts := options{Dims: 384}
	var quick bool
	flags := flag.NewFlagSet("bench/store", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.BoolVar(&quick, "quick", false, "a smoke test: fewer items and queries than the other flags' defaults")
	flags.Uint64Var(&opts.Seed, "seed", 4, "seed of the data and the queries")
	flags.IntVar(&opts.Items, "items", 100_000, "items with a vector, a multiple of 10000")
	flags.IntVar(&opts.Queries, "queries", 200, "timed queries a cell")
	flags.IntVar(&opts.NamespaceItems, "namespace-items", 200_000, "items of the part about namespaces, a multiple of 10000")
	flags.IntVar(&opts.NamespaceRuns, "namespace-runs", 20, "timed calls of each case about namespaces")
	flags.StringVar(&opts.part, "part", "", "measure this alone: search or namespaces")
	flags.StringVar(&opts.database, "database", "",
		"URL of a migrated database with pgvector for the part: what an earlier run loaded is used again, or is loaded and stays")
	flags.StringVar(&opts.jsonPath, "json", "", "file to write the results to, as JSON")
	flags.StringVar(&opts.markdownPath, "markdown", "", "file to write the report to; standard output has it in any case")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: there are only flags, see --help", flags.Arg(0))
	}
	if quick {
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range map[string]struct {
			to    *int
			value int
		}{
			"items": {&opts.Items, 10_000}, "queries": {&opts.Queries, 20},
			"namespace-items": {&opts.NamespaceItems, 10_000}, "namespace-runs": {&opts.NamespaceRuns, 5},
		} {
			if !given[name] {
				*value.to = value.value
			}
		}
	}
	return opts, opts.validate()
}

func (o options) validate() error {
	for name, n := range map[string]int{"items": o.Items, "namespace-items": o.NamespaceItems} {
		if n < 10_000 || n%10_000 != 0 {
			return fmt.Errorf("--%s is %d: it must be a multiple of 10000, so that namespaces and filters have their exact shares", name, n)
		}
	}
	if o.Queries < 1 || o.NamespaceRuns < 1 {
		return errors.New("--queries and --namespace-runs must be 1 or more")
	}
	if o.part != "" && !slices.ContainsFunc(parts, func(p part) bool { return p.name == o.part }) {
		return fmt.Errorf("--part is %q: it must be search or namespaces", o.part)
	}
	if o.database != "" && o.part == "" {
		return errors.New("--database holds the data of one part: name it with --part")
	}
	return nil
}

// serverSettings give the server the memory to hold the data and the indexes.
var serverSettings = map[string]string{"shared_buffers": "2GB", "max_wal_size": "8GB"}
