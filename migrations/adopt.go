package migrations

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// Adoption says what Adopt does, or would do, to the tables that LangGraph's own savers and store made in a schema.
type Adoption struct {
	// Found are the dialects whose tables there are, each at the version of its own migrations.
	Found []AdoptedDialect
	// From is the schema that the tables are in.
	From string
	// Notes are what the reader should know and nothing is done about.
	Notes []string
	// Schema is where they are afterwards; the same as From when they stay in place.
	Schema string
	// Steps are the statements that make LangGraph's tables ours, in their order. The migrations of this package run
	// around them.
	Steps []AdoptionStep
	// Tables are the tables that hold data, in the order of their names.
	Tables []AdoptedTable

	// present are all tables that are there, and so not made.
	present []string
}

// AdoptedDialect is one of LangGraph's libraries, by the tables it made.
type AdoptedDialect struct {
	// Latest is the newest version of its migrations that this build knows, counted from 0 as LangGraph does.
	Latest int
	// Name such as "LangGraph's Python saver".
	Name string
	// Version of its migrations that the database is at; -1 when its version table says nothing.
	Version int
}

// String is the dialect with its version, for people.
func (d AdoptedDialect) String() string {
	if d.Version < 0 {
		return d.Name + ", which keeps no version there"
	}
	return fmt.Sprintf("%s, at version %d of %d of its migrations", d.Name, d.Version, d.Latest)
}

// AdoptedTable is a table with data in it, and what becomes of it.
type AdoptedTable struct {
	// Bytes on disk, indexes included.
	Bytes int64
	// Estimate is how long its lock is held for, from its size; a guess, see [Adoption.Estimate].
	Estimate time.Duration
	// Name without the schema.
	Name string
	// Rewritten is set when every row is written anew, which for that time needs the space of the table once more.
	Rewritten bool
	// Rows as the server's statistics have them, or counted where there are none.
	Rows int64
}

// AdoptionStep is one statement, and why.
type AdoptionStep struct {
	Purpose, SQL string

	// table whose making the step replaces; empty for those that come at the end.
	table string
}

// Estimate is how long the adoption holds its locks, from the sizes of the tables, at what it takes on a small server (two
// cores, data in memory): a guess that is good for telling seconds from hours.
func (a *Adoption) Estimate() time.Duration {
	total := 500 * time.Millisecond
	for _, t := range a.Tables {
		total += t.Estimate
	}
	return total
}

// ErrNotAdoptable means that a schema has nothing to adopt, or something that cannot be. The error is a
// *NotAdoptableError with the reasons.
var ErrNotAdoptable = errors.New("cannot be adopted")

// NotAdoptableError has every reason why a schema cannot be adopted, each with what to do about it.
type NotAdoptableError struct {
	From    string
	Reasons []string
}

// Error lists the reasons, one a line.
func (e *NotAdoptableError) Error() string {
	return fmt.Sprintf("schema %q cannot be adopted; nothing was changed:\n  - %s", e.From, strings.Join(e.Reasons, "\n  - "))
}

// Is makes it an ErrNotAdoptable.
func (e *NotAdoptableError) Is(target error) bool { return target == ErrNotAdoptable }

// PlanAdoption says what Adopt would do with LangGraph's tables in schema from. It only reads, and waits for nobody.
//
// Errors: *NotAdoptableError.
func (m *Migrator) PlanAdoption(ctx context.Context, from string) (*Adoption, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer m.disconnect(ctx, conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return nil, err
	}
	defer m.rollback(ctx, tx)
	return m.planAdoption(ctx, tx, from)
}

// Adopt makes a database that LangGraph's own savers or store made and filled one of ours, without copying it: the tables
// move to the migrator's schema, or stay where they are when from is that schema, and get the columns, collations and
// indexes that Up would have given them; every row stays. Then the rest of the migrations runs, and the whole is compared
// with what they make in an empty schema.
//
// All of it is one transaction: unless the result is what was shipped, or when anything fails, nothing is changed. The
// tables are locked exclusively from its beginning to its end; each lock is waited for no longer than the lock timeout.
// [Migrator.PlanAdoption] says beforehand how long that may be. The role must own the tables and have CREATE on the database.
//
// Errors: *NotAdoptableError, *MigrationError.
func (m *Migrator) Adopt(ctx context.Context, from string) (*Adoption, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer m.disconnect(ctx, conn)
	var plan *Adoption
	started := time.Now()
	err = m.locked(ctx, conn, func(tx pgx.Tx) error {
		var err error
		plan, err = m.adopt(ctx, tx, from)
		return err
	})
	if err != nil {
		return nil, err
	}
	m.config.Logger.InfoContext(ctx, "adopted", "tables", plan.tableNames(), "duration", time.Since(started))
	return plan, m.analyze(ctx, conn, plan)
}

func (m *Migrator) adopt(ctx context.Context, tx pgx.Tx, from string) (*Adoption, error) {
	// Planned once to know what to lock, and again when nobody else can change it.
	plan, err := m.planAdoption(ctx, tx, from)
	if err != nil {
		return nil, err
	}
	if err := runStep(ctx, tx, plan.Steps[0]); err != nil {
		return nil, err
	}
	if plan, err = m.planAdoption(ctx, tx, from); err != nil {
		return nil, err
	}
	if err := m.prepare(ctx, tx); err != nil {
		return nil, err
	}
	before, err := m.routines(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := m.migrateAround(ctx, tx, plan); err != nil {
		return nil, err
	}
	if err := m.sameRoutines(ctx, tx, before); err != nil {
		return nil, err
	}
	return plan, m.asShipped(ctx, tx)
}

// migrateAround runs every migration, and for each table that is there already, instead of making it, the steps that make
// it ours.
func (m *Migrator) migrateAround(ctx context.Context, tx pgx.Tx, plan *Adoption) error {
	w := &walk{direction: DirectionUp, schema: m.config.Schema}
	for i := range m.list {
		run := &m.list[i]
		script, steps, err := m.substitute(run.up, plan)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if err := runStep(ctx, tx, step); err != nil {
				return m.withCause(ctx, err)
			}
		}
		if err := runScript(ctx, tx, script); err != nil {
			return m.explain(ctx, err, run, w)
		}
	}
	for _, step := range plan.stepsOf("") {
		if err := runStep(ctx, tx, step); err != nil {
			return m.withCause(ctx, err)
		}
	}
	return m.writeVersion(ctx, tx, m.Latest(), false)
}

var (
	createTable = regexp.MustCompile(`(?i)^create table ("(?:[^"]|"")*")\.([a-z_]+)\s`)
	fillTable   = regexp.MustCompile(`(?i)^insert into ("(?:[^"]|"")*")\.([a-z_]+_migrations)\s`)
)

// substitute takes out of a migration what makes the tables that are there, and says what to do instead. Lines keep their
// numbers.
func (m *Migrator) substitute(script string, plan *Adoption) (string, []AdoptionStep, error) {
	statements, err := sqltext.Split(script)
	if err != nil {
		return "", nil, err
	}
	var steps []AdoptionStep
	var out strings.Builder
	for _, s := range statements {
		out.WriteString(s.Lead)
		text := s.Text
		if found := createTable.FindStringSubmatch(text); found != nil && plan.has(found[2]) {
			steps = append(steps, plan.stepsOf(found[2])...)
			text = strings.Repeat("\n", strings.Count(text, "\n"))
		} else if found := fillTable.FindStringSubmatch(text); found != nil && plan.has(found[2]) {
			text = strings.TrimSuffix(text, ";") + " on conflict do nothing;"
		}
		out.WriteString(text)
	}
	return out.String(), steps, nil
}

func runStep(ctx context.Context, tx pgx.Tx, step AdoptionStep) error {
	if _, err := tx.Exec(ctx, step.SQL); err != nil {
		return fmt.Errorf("the adoption failed and was rolled back; nothing was changed\n%s\n%s: %w", step.SQL, describe(err), err)
	}
	return nil
}

// routines are the functions that the schema already has, by what they are.
func (m *Migrator) routines(ctx context.Context, tx pgx.Tx) (map[string]string, error) {
	rows, err := tx.Query(ctx, `
		select p.oid::regprocedure::text, md5(p.prosrc || coalesce(p.probin, '') || p.prolang)
		from pg_proc p join pg_namespace n on n.oid = p.pronamespace
		where n.nspname in ($1, $2)`, m.config.Schema, m.config.Schema+analyticsSuffix)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	var name, body string
	_, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		found[name] = body
		return nil
	})
	return found, err
}

// sameRoutines refuses an adoption whose migrations replaced functions that were not ours.
func (m *Migrator) sameRoutines(ctx context.Context, tx pgx.Tx, before map[string]string) error {
	after, err := m.routines(ctx, tx)
	if err != nil {
		return err
	}
	for name, body := range before {
		if after[name] != body {
			return &NotAdoptableError{From: m.config.Schema, Reasons: []string{fmt.Sprintf(
				"schema %q has a function %s of its own, and pgweft needs that name; adopt into another schema with --schema",
				m.config.Schema, name)}}
		}
	}
	return nil
}

// asShipped compares the result with what Up makes, and lets nothing be committed that differs.
func (m *Migrator) asShipped(ctx context.Context, tx pgx.Tx) error {
	shadow, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	drifts, err := m.compareWithShadow(ctx, shadow)
	if err != nil {
		return err
	}
	if err := shadow.Rollback(ctx); err != nil {
		return err
	}
	var differences []string
	for _, d := range drifts {
		if d.Kind != DriftExtra {
			differences = append(differences, d.String())
		}
	}
	if len(differences) > 0 {
		return &NotAdoptableError{From: m.config.Schema, Reasons: append([]string{
			"the tables have something that the adoption does not change, so the result would not be what was shipped; undo this first",
		},
			differences...)}
	}
	return nil
}

// analyze replaces the statistics that changing a collation drops. The adoption itself is committed.
func (m *Migrator) analyze(ctx context.Context, conn *pgx.Conn, plan *Adoption) error {
	for _, t := range plan.Tables {
		if _, err := conn.Exec(ctx, "analyze "+quoteIdentifier(plan.Schema)+"."+quoteIdentifier(t.Name)); err != nil {
			return fmt.Errorf("the adoption is done; the statistics of table %s are not (run ANALYZE): %w", t.Name, err)
		}
	}
	return nil
}

func (a *Adoption) tableNames() string {
	names := make([]string, len(a.Tables))
	for i, t := range a.Tables {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// has reports whether a table of that name is adopted rather than made.
func (a *Adoption) has(table string) bool { return slices.Contains(a.present, table) }

// stepsOf are the steps that stand for making one table; "" those that stand for none.
func (a *Adoption) stepsOf(table string) []AdoptionStep {
	var steps []AdoptionStep
	for _, s := range a.Steps[1:] {
		if s.table == table {
			steps = append(steps, s)
		}
	}
	return steps
}
