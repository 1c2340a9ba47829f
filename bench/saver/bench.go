package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/pgweft/pgweft/bench/internal/measuring"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/testcontainers"
)

// bench is a run: its databases, and the sides that are measured on them.
type bench struct {
	options  options
	payloads payloads
	postgres *testcontainers.Postgres
	progress *measuring.Progress
	results  results

	directory string // of payloads.json
	servers   []*server
	ours      *server // of pgweft and the floor
	theirs    *server // of LangGraph's statements
	goSides   []side
	peers     []*peer
	peerSides []side
	filled    int   // checkpoints that the databases of goSides have
	failed    error // what did not keep the rest from being measured
}

// selected are the cases to measure.
func (o options) selected() []*benchmarkCase {
	all := append(o.Sizes.databaseCases(), o.Sizes.cases()...)
	return slices.DeleteFunc(append(all, o.Sizes.asyncCases()...), func(c *benchmarkCase) bool { return !o.wants(c) })
}

func (o options) wants(c *benchmarkCase) bool {
	only := strings.ToLower(o.only)
	return strings.Contains(strings.ToLower(c.title()), only) || strings.Contains(c.Group, only) || strings.Contains(c.Operation.Name, only)
}

func (b *bench) run(ctx context.Context) (err error) {
	b.results.Options = b.options
	if err := b.openOwn(ctx); err != nil {
		return err
	}
	if b.results.Machine, err = measuring.Describe(ctx, b.ours.conn, settings...); err != nil {
		return err
	}
	for _, size := range b.options.Sizes.Databases {
		if err := b.fillTo(ctx, size); err != nil {
			return err
		}
		if err := b.measure(ctx, b.options.Sizes.databaseCases(), "on"); err != nil {
			return err
		}
	}
	if err := b.openPeers(ctx); err != nil {
		return err
	}
	var working []about
	for _, s := range append(slices.Clone(b.goSides), b.peerSides...) {
		working = append(working, s.about())
	}
	// Those that could not start are there already, and come last.
	b.results.Sides = append(working, b.results.Sides...)
	if err := b.measure(ctx, b.options.Sizes.cases(), "on"); err != nil {
		return err
	}
	if !slices.ContainsFunc(b.options.Sizes.asyncCases(), b.options.wants) {
		return nil
	}
	if err := b.commitAsynchronously(ctx); err != nil {
		return err
	}
	return b.measure(ctx, b.options.Sizes.asyncCases(), "off")
}

func (b *bench) newDatabase(ctx context.Context) (*server, error) {
	database, err := b.postgres.Clone(ctx) // goes with the server
	if err != nil {
		return nil, err
	}
	s, err := watch(ctx, database.ConnString())
	if err == nil {
		b.servers = append(b.servers, s)
	}
	return s, err
}

// openOwn makes the databases of the sides of this process, with the threads that are read.
func (b *bench) openOwn(ctx context.Context) (err error) {
	b.progress.Stage("make databases and threads")
	if b.directory, err = os.MkdirTemp("", "pgweft-bench-"); err != nil {
		return err
	}
	if err := os.Chmod(b.directory, 0o755); err != nil { //nolint:gosec // a peer may run as another user
		return err
	}
	if b.ours, err = b.newDatabase(ctx); err != nil {
		return err
	}
	if b.theirs, err = b.newDatabase(ctx); err != nil {
		return err
	}
	if _, err := b.ours.conn.Exec(ctx, floorTable); err != nil {
		return err
	}
	if _, err := b.ours.conn.Exec(ctx, "select "+migrations.DefaultSchema+".enable_vector_index($1)", dimensions); err != nil {
		return fmt.Errorf("enable vector search: %w", err)
	}
	if _, err := b.theirs.conn.Exec(ctx, langGraphTables); err != nil {
		return err
	}
	threads := append(b.options.Sizes.plainThreads(), b.options.Sizes.ownThreads()...)
	if err := copyThreads(ctx, b.ours.conn, migrations.DefaultSchema, b.payloads, threads); err != nil {
		return err
	}
	if err := copyThreads(ctx, b.theirs.conn, "public", b.payloads, threads); err != nil {
		return err
	}
	for _, t := range threads {
		b.filled += t.checkpoints
	}
	if err := fillFloor(ctx, b.ours.conn, b.payloads, threads); err != nil {
		return err
	}
	if err := b.fillItems(ctx); err != nil {
		return err
	}
	return b.openSides(ctx)
}

func (b *bench) fillItems(ctx context.Context) error {
	items := b.options.Sizes.Items
	if err := copyItems(ctx, b.ours.conn, migrations.DefaultSchema, b.payloads, items); err != nil {
		return err
	}
	if err := copyItems(ctx, b.theirs.conn, "public", b.payloads, items); err != nil {
		return err
	}
	return fillFloorItems(ctx, b.ours.conn, b.payloads, items)
}

func (b *bench) openSides(ctx context.Context) error {
	weft, err := newPgweft(ctx, b.ours, b.payloads)
	if err != nil {
		return err
	}
	b.goSides = append(b.goSides, weft)
	floor, err := newFloor(ctx, b.ours, b.payloads)
	if err != nil {
		return err
	}
	b.goSides = append(b.goSides, floor)
	statements, err := newLangGraph(ctx, b.theirs, b.payloads)
	if err != nil {
		return err
	}
	b.goSides = append(b.goSides, statements)
	return nil
}

// fillTo fills the databases of the sides of this process up to so many checkpoints.
func (b *bench) fillTo(ctx context.Context, size int) error {
	if size <= b.filled {
		return settleAll(ctx, b.ours, b.theirs)
	}
	b.progress.Stage("fill the databases up to %d checkpoints", size)
	group, filling := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := fillBackground(filling, b.ours.conn, migrations.DefaultSchema, b.filled, size); err != nil {
			return err
		}
		return fillFloorBackground(filling, b.ours.conn, b.filled, size)
	})
	group.Go(func() error { return fillBackground(filling, b.theirs.conn, "public", b.filled, size) })
	if err := group.Wait(); err != nil {
		return err
	}
	b.filled = size
	return settleAll(ctx, b.ours, b.theirs)
}

func settleAll(ctx context.Context, servers ...*server) error {
	for _, s := range servers {
		if err := settle(ctx, s.conn); err != nil {
			return err
		}
	}
	return nil
}

// openPeers starts the peers that a case needs, and has them fill their threads. One that cannot start is noted.
func (b *bench) openPeers(ctx context.Context) error {
	needed := slices.ContainsFunc(b.options.selected(), func(c *benchmarkCase) bool { return !c.goOnly })
	if b.options.withoutPeers || !needed {
		return nil
	}
	path := filepath.Join(b.directory, "payloads.json")
	if err := b.payloads.save(path); err != nil {
		return err
	}
	for _, kind := range peerKinds {
		b.progress.Stage("start the peer %s, which fills its threads", kind.name)
		if err := b.openPeer(ctx, kind, path); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.leaveOut(kind, err)
		}
	}
	return nil
}

// leaveOut notes why a peer is not measured, and says so at once.
func (b *bench) leaveOut(kind peerKind, err error) {
	for _, mode := range kind.modes {
		out := about{Side: kind.side(mode)}
		if errors.Is(err, errNotGiven) {
			out.Absent = err.Error()
		} else {
			out.Problem = err.Error()
		}
		b.results.Sides = append(b.results.Sides, out)
		b.progress.Note(fmt.Sprintf("  %-16s not measured: %s", out.Side, oneLine(err.Error())))
	}
}

func (b *bench) openPeer(ctx context.Context, kind peerKind, payloadsPath string) error {
	program, err := kind.program(b.options.peers)
	if err != nil {
		return err
	}
	watched, err := b.newDatabase(ctx)
	if err != nil {
		return err
	}
	p, err := startPeer(ctx, kind, program, watched.url, payloadsPath)
	if err != nil {
		return err
	}
	b.peers = append(b.peers, p)
	if err := p.fill(ctx, b.options.Sizes.plainThreads()); err != nil {
		return err
	}
	if err := b.fillPeerItems(ctx, p); err != nil {
		return err
	}
	if err := b.fillPeer(ctx, watched.conn); err != nil {
		return err
	}
	for _, mode := range kind.modes {
		b.peerSides = append(b.peerSides, &peerSide{peer: p, mode: mode, watched: watched})
	}
	return nil
}

// fillPeerItems runs each operation of the store once, at which peers put the items and make the vector index. LangGraph's
// own makes that concurrently, which would wait for ever for a connection that its pipeline mode left inside a transaction.
func (b *bench) fillPeerItems(ctx context.Context, p *peer) error {
	for _, c := range b.options.Sizes.cases() {
		if !isStore(c.Operation) || !slices.Contains(p.said.Operations, c.Operation.Name) {
			continue
		}
		if _, err := p.ask(ctx, request{Do: "run", Mode: p.kind.modes[0], Count: 1, operation: c.Operation}, answerTimeout); err != nil {
			return err
		}
	}
	return nil
}

// fillPeer brings a peer's database up to the size of ours where its tables are LangGraph's; another design would need rows
// of its own, and is measured without.
func (b *bench) fillPeer(ctx context.Context, conn *pgx.Conn) error {
	var known bool
	err := conn.QueryRow(ctx, `select count(*) = 3
		from information_schema.columns
		where table_schema = 'public' and (table_name, column_name) in (('checkpoints', 'checkpoint'), ('checkpoint_blobs', 'version'),
			('checkpoint_writes', 'idx'))`).Scan(&known)
	if err != nil {
		return err
	}
	if known {
		if err := fillBackground(ctx, conn, "public", 0, b.filled); err != nil {
			return err
		}
	}
	return settle(ctx, conn)
}

// measure runs the cases that are wanted, with the sides that can do them.
func (b *bench) measure(ctx context.Context, cases []*benchmarkCase, durability string) error {
	m := &measurer{rounds: b.options.Rounds, roundTime: b.options.RoundTime, warmUps: measuring.WarmUps, progress: b.progress}
	if b.options.Quick {
		m.warmUps = 1
	}
	for _, c := range cases {
		if !b.options.wants(c) {
			continue
		}
		c.Name, c.Durability, c.Database, c.sample = c.title(), durability, b.filled, b.payloads.expectedSample(c.Operation)
		if err := m.measure(ctx, c, b.sidesOf(c)); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		b.results.Cases = append(b.results.Cases, c)
		for _, res := range c.Results {
			b.progress.Note(res.String())
		}
	}
	return nil
}

func (b *bench) sidesOf(c *benchmarkCase) []side {
	var sides []side
	for _, s := range append(slices.Clone(b.goSides), b.peerSides...) {
		p, isPeer := s.(*peerSide)
		if isPeer && (c.goOnly || p.mode != p.kind.modes[0] && !c.allModes) || !s.supports(c.Operation) {
			continue
		}
		sides = append(sides, s)
	}
	return sides
}

// String is what a side says while the rest is being measured.
func (r result) String() string {
	if r.Problem != "" {
		return fmt.Sprintf("  %-16s not measured: %s", r.Side, oneLine(r.Problem))
	}
	return fmt.Sprintf("  %-16s %9s/s (%s to %s), p50 %.3f ms, p95 %.3f ms, server %s us", r.Side, rate(r.PerSecond), rate(r.Slowest), rate(r.Fastest),
		r.P50, r.P95, orDash(r.ServerCPU))
}

// commitAsynchronously turns synchronous_commit off in every database and connects every side again: sessions that are open
// keep what they began with.
func (b *bench) commitAsynchronously(ctx context.Context) error {
	b.progress.Stage("turn synchronous_commit off")
	for _, s := range b.servers {
		if _, err := s.conn.Exec(ctx, "alter database "+pgx.Identifier{s.database}.Sanitize()+" set synchronous_commit to off"); err != nil {
			return err
		}
	}
	for _, s := range b.goSides {
		if err := s.close(ctx); err != nil {
			return err
		}
	}
	b.goSides = nil
	if err := b.openSides(ctx); err != nil {
		return err
	}
	b.failed = b.restartPeers(ctx)
	return ctx.Err()
}

// restartPeers goes on without those that end badly or do not start again.
func (b *bench) restartPeers(ctx context.Context) error {
	watched := map[*peer]*server{}
	for _, s := range b.peerSides {
		watched[s.(*peerSide).peer] = s.server()
	}
	old := b.peers
	b.peers, b.peerSides = nil, nil
	var failed []error
	for _, p := range old {
		failed = append(failed, p.close(ctx))
		if watched[p] == nil {
			continue // it could not fill its threads
		}
		again, err := startPeer(ctx, p.kind, p.command.Path, watched[p].url, filepath.Join(b.directory, "payloads.json"))
		if err != nil {
			failed = append(failed, fmt.Errorf("start the peer %s again: %w", p.kind.name, err))
			continue
		}
		b.peers = append(b.peers, again)
		for _, mode := range p.kind.modes {
			b.peerSides = append(b.peerSides, &peerSide{peer: again, mode: mode, watched: watched[p]})
		}
	}
	return errors.Join(failed...)
}

func (b *bench) close(ctx context.Context) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, p := range b.peers {
		// An interrupt kills them; otherwise they end by themselves.
		if err := p.close(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	for _, s := range b.goSides {
		errs = append(errs, s.close(closing))
	}
	for _, s := range b.servers {
		s.close(closing)
	}
	if b.directory != "" {
		errs = append(errs, os.RemoveAll(b.directory))
	}
	return errors.Join(errs...)
}
