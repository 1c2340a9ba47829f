// Command saver measures the checkpoint saver and the store beside what people use today, and beside a floor: one row of the
// same bytes. All sides do the same operations on the same server with the same durability and payloads, in turns.
//
// It needs no configuration: it finds or starts a Postgres with pgvector by itself and removes what it started. The exit code
// is 1 where a side could not be measured, or read what it had not written; --without-peers leaves out the sides that are
// processes of their own. Ctrl-C stops it in good order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// options are the sizes of a run and where its results go.
type options struct {
	Quick     bool          `json:"quick,omitempty"`
	Seed      uint64        `json:"seed"`
	Rounds    int           `json:"rounds"`
	RoundTime time.Duration `json:"round_nanoseconds"`
	Sizes     sizes         `json:"sizes"`

	only         string
	peers        string
	withoutPeers bool
	out          string
}

func main() { measuring.Main("bench/saver", run) }

func parseOptions(args []string, out io.Writer) (options, error) {
	opts := options{Sizes: fullSizes}
	flags := flag.NewFlagSet("bench/saver", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.BoolVar(&opts.Quick, "quick", false, "a smoke test: one short round on short threads and a small database: its figures say nothing")
	flags.Uint64Var(&opts.Seed, "seed", 7, "seed of the payloads")
	flags.IntVar(&opts.Rounds, "rounds", 0, "rounds of each side in each case (5; 1 with --quick)")
	flags.DurationVar(&opts.RoundTime, "round-time", 0, "about how long a round takes (250ms; 10ms with --quick)")
	flags.StringVar(&opts.only, "case", "", "measure only the cases with this in their name or group: put, get, list, delta, store, ...")
	flags.StringVar(&opts.peers, "peers", "bench/peers", "the directory of the peers")
	flags.BoolVar(&opts.withoutPeers, "without-peers", false, "leave out the savers that run in processes of their own")
	flags.StringVar(&opts.out, "out", "", "a directory to write benchmarks.json, benchmarks.md and benchmarks/*.svg to; standard output has the report in any case")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: there are only flags, see --help", flags.Arg(0))
	}
	defaultRounds, defaultTime := 5, 250*time.Millisecond
	if opts.Quick {
		opts.Sizes, defaultRounds, defaultTime = quickSizes, 1, 10*time.Millisecond
	}
	if opts.Rounds == 0 {
		opts.Rounds = defaultRounds
	}
	if opts.RoundTime == 0 {
		opts.RoundTime = defaultTime
	}
	if opts.Rounds < 0 || opts.RoundTime < 0 {
		return options{}, errors.New("--rounds and --round-time must be more than 0")
	}
	if opts.out != "" && (opts.Quick || opts.only != "") {
		return options{}, errors.New("--out keeps the results of complete runs: leave out --quick and --case")
	}
	if len(opts.selected()) == 0 {
		return options{}, fmt.Errorf("--case is %q, and no case has that in its name or group", opts.only)
	}
	return opts, nil
}

func run(ctx context.Context, args []string, out io.Writer, p *measuring.Progress) (err error) {
	opts, err := parseOptions(args, out)
	if err != nil {
		return err
	}
	all, err := newPayloads(opts.Seed)
	if err != nil {
		return err
	}
	postgres, err := measuring.StartPostgres(ctx, p, serverSettings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, measuring.StopPostgres(ctx, postgres)) }()
	b := &bench{options: opts, payloads: all, postgres: postgres, progress: p}
	err = b.run(ctx)
	closeErr := errors.Join(b.failed, b.close(ctx))
	if err != nil {
		return errors.Join(err, closeErr)
	}
	p.Done()
	return errors.Join(b.results.write(out, opts.out), b.results.check(opts.withoutPeers), closeErr)
}

// serverSettings keep what happens now and then out of the measurement: checkpoints and autovacuum.
var serverSettings = map[string]string{
	"shared_buffers": "2GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "autovacuum": "off",
}
