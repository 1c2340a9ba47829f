package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/pgsaver"
)

// diagnosis is one finding of doctor, by the function's columns.
type diagnosis struct {
	Level   string `db:"level" json:"level"`
	Topic   string `db:"topic" json:"topic"`
	Subject string `db:"subject" json:"subject"`
	Detail  string `db:"detail" json:"detail"`
	Remedy  string `db:"remedy" json:"remedy"`
}

// The levels of a diagnosis.
const (
	problem       = "problem"
	worthAThought = "advice"
	note          = "note"
)

func newDoctor(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look the schema and its server over, and say what mends what is wrong",
		Long: `Look the schema and its server over: version, drift, grants, tenancy, indexes that are invalid or unused, bloat, the largest
threads and channels, retention, compression, pgvector, a pooler in between, and settings worth changing. Each finding has
the command that mends it. A problem wants mending; advice is worth a thought; a note only tells.

It changes nothing. Run it as the owner or as a member of <schema>_ops; comparing the schema with what was shipped also
needs CREATE on the database. Exit code 1 when there is a problem.`,
		Example: "  pgweft doctor\n  pgweft doctor --json | jq -r '.[] | select(.level == \"problem\").remedy'",
		Args:    cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var found []diagnosis
			err := o.patiently("looking", func() error {
				var err error
				found, err = o.examine(cmd.Context())
				return err
			})
			if err != nil {
				return judged(err)
			}
			return o.writeDiagnoses(found)
		},
	}
}

// examine asks about the version first: a schema that is not what this command was built for has nothing else to tell.
func (o *options) examine(ctx context.Context) ([]diagnosis, error) {
	version, err := o.examineVersion(ctx)
	if err != nil || version != nil {
		return version, err
	}
	found := o.examineDrift(ctx)
	pooler, err := o.examinePooler(ctx)
	if err != nil {
		return nil, err
	}
	found = append(found, pooler...)
	err = o.read(ctx, func(tx pgx.Tx, q *queries) error {
		inside, err := collect[diagnosis](ctx, tx, q.doctor)
		found = append(found, inside...)
		return err
	})
	return byLevel(found), err
}

func byLevel(found []diagnosis) []diagnosis {
	sorted := []diagnosis{}
	for _, level := range []string{problem, worthAThought, note} {
		for _, d := range found {
			if d.Level == level {
				sorted = append(sorted, d)
			}
		}
	}
	return sorted
}

func (o *options) examineVersion(ctx context.Context) ([]diagnosis, error) {
	conn, _, err := o.connect(ctx, nil)
	if err == nil {
		disconnect(ctx, conn)
		return nil, nil
	}
	var remedy string
	switch {
	case errors.Is(err, pgsaver.ErrSchemaMissing), errors.Is(err, pgsaver.ErrSchemaOutdated):
		remedy = fmt.Sprintf("migrate up --schema %s", o.database.Schema())
	case errors.Is(err, pgsaver.ErrSchemaNewer):
		remedy = "Install the pgweft of the schema's version."
	default:
		return nil, err
	}
	return []diagnosis{{problem, "version", o.database.Schema(), err.Error(), remedy}}, nil
}

// examineDrift compares with what is shipped, where the role may.
func (o *options) examineDrift(ctx context.Context) []diagnosis {
	unknown := func(err error) []diagnosis {
		return []diagnosis{{
			note, "drift", o.database.Schema(), "It could not be compared with what was shipped: " + err.Error(),
			fmt.Sprintf("migrate verify --schema %s, as a role that may create schemas", o.database.Schema()),
		}}
	}
	config, err := o.database.ConnConfig()
	if err != nil {
		return unknown(err)
	}
	m, err := migrations.New(config, &migrations.Config{Schema: o.database.Schema()})
	if err != nil {
		return unknown(err)
	}
	drifts, err := m.Verify(ctx)
	if err != nil {
		return unknown(err)
	}
	var found []diagnosis
	for _, d := range drifts {
		level := problem
		if d.Harmless {
			level = note
		}
		found = append(found, diagnosis{
			level, "drift", d.Object, "It is " + string(d.Kind) + ", compared with what was shipped.",
			fmt.Sprintf("migrate verify --schema %s shows the difference, migrate print what it should be.", o.database.Schema()),
		})
	}
	return found
}

// examinePooler finds a pooler by the process number it makes up, and its mode by whether a second client is given the
// server connection of a first that is still there.
func (o *options) examinePooler(ctx context.Context) ([]diagnosis, error) {
	first, _, err := o.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer disconnect(ctx, first)
	const ask = "select pg_backend_pid()"
	pid, err := call[int64](ctx, first, ask)
	if err != nil {
		return nil, err
	}
	if int64(first.PgConn().PID()) == pid {
		return nil, nil
	}
	second, _, err := o.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer disconnect(ctx, second)
	other, err := call[int64](ctx, second, ask)
	if err != nil {
		return nil, err
	}
	if pid != other {
		return []diagnosis{{
			note, "pooler", "session", "There is a pooler in between, by all appearances in session mode.",
			"Nothing needs to change. In transaction mode it would serve more clients: pool_mode = transaction.",
		}}, nil
	}
	return []diagnosis{{
		note, "pooler", "transaction", "There is a pooler in between, in transaction mode.",
		"Have pgx name no prepared statements (default_query_exec_mode=exec), unless the pooler keeps them " +
			"(max_prepared_statements, PgBouncer 1.21); connect directly for migrations.",
	}}, nil
}

func (o *options) writeDiagnoses(found []diagnosis) error {
	problems := int64(0)
	for _, d := range found {
		if d.Level == problem {
			problems++
		}
	}
	if o.json {
		if err := o.writeJSON(found); err != nil {
			return err
		}
	} else {
		o.renderDiagnoses(found)
	}
	if problems > 0 {
		return fmt.Errorf("%s found", count(problems, "problem"))
	}
	return nil
}

func (o *options) renderDiagnoses(found []diagnosis) {
	if len(found) == 0 {
		o.printf("nothing to mend, and nothing to tell\n")
		return
	}
	const levelWidth, topicWidth, gaps, least = 7, 11, 6, 40
	width := 0
	if columns := o.env.Columns(); columns > 0 {
		width = max(columns-levelWidth-topicWidth-gaps, least)
	}
	t := newTable(o.env.Stdout, table.Row{"level", "topic", "what, and what mends it"})
	for i, d := range found {
		if i > 0 {
			t.AppendRow(table.Row{""})
		}
		level := d.Level
		if level == problem {
			level = o.colour(red, level)
		}
		what := wrapped(o.colour(bold, cell(d.Subject))+": "+cell(d.Detail), width) + "\n" + wrapped(cell(d.Remedy), width)
		t.AppendRow(table.Row{level, d.Topic, what})
	}
	t.Render()
}
