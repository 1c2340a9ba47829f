package migrations

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // a fingerprint for readers, not a protection
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// Dump describes the schema and its analytics companion as they are in the catalogs: tables, constraints, indexes,
// triggers, policies, functions with their bodies, views, types, comments and grants. The text is the same for the same
// schema whatever its name, owner and order of creation, so that two of them can be compared. It reads like SQL but is
// not meant to be run. The version table is left out. An absent schema gives an empty text.
func (m *Migrator) Dump(ctx context.Context) (string, error) {
	return m.dump(ctx, printObjects{})
}

// Outline is Dump on few pages: of a function its signature, attributes and the MD5 of its body, of a view its columns.
func (m *Migrator) Outline(ctx context.Context) (string, error) {
	return m.dump(ctx, printObjects{outline: true})
}

func (m *Migrator) dump(ctx context.Context, p printObjects) (string, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return "", err
	}
	defer m.disconnect(ctx, conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return "", err
	}
	defer m.rollback(ctx, tx)
	list, err := readObjects(ctx, tx, m.config.Schema)
	if err != nil {
		return "", fmt.Errorf("read the catalogs: %w", err)
	}
	return p.all(tokenized(list, m.config.Schema)), nil
}

// tokenized replaces the two schemas' names by their tokens.
func tokenized(list []object, schema string) []object {
	quoted := tokenReplacer(schema)
	// In what Postgres deparses, objects of the main schema are not qualified; those of the other are.
	bare := regexp.MustCompile(`(^|[^A-Za-z0-9_$".])` + regexp.QuoteMeta(schema+analyticsSuffix) + `\.`)
	replaced := slices.Clone(list)
	for i, o := range replaced {
		replaced[i].Text = bare.ReplaceAllString(quoted.Replace(o.Text), "${1}"+sqltext.AnalyticsSchema+".")
		replaced[i].Body = bare.ReplaceAllString(quoted.Replace(o.Body), "${1}"+sqltext.AnalyticsSchema+".")
	}
	return replaced
}

// tokenReplacer finds the names as Render writes them: quoted, and with quotes doubled once or twice within literals.
func tokenReplacer(schema string) *strings.Replacer {
	var pairs []string
	escape := func(s string) string { return strings.ReplaceAll(s, "'", "''") }
	for _, name := range []struct{ quoted, token string }{
		{quoteIdentifier(schema + analyticsSuffix), sqltext.AnalyticsSchema},
		{quoteIdentifier(schema), sqltext.MainSchema},
	} {
		once := escape(name.quoted)
		pairs = append(pairs, escape(once), name.token, once, name.token, name.quoted, name.token)
	}
	return strings.NewReplacer(pairs...)
}

// kindOrder is the order in which kinds are printed, among objects and among the parts of one.
var kindOrder = []string{
	"type", "sequence", kindTable, "foreign table", kindFunction, "procedure", "aggregate", kindView,
	"materialized view", kindComment, kindColumn, kindConstraint, kindParameter, kindSecurity, "policy", kindIndex, "trigger", "rule", kindGrant,
}

func inPrintOrder(a, b object) int {
	bool2int := map[bool]int{true: 1}
	return cmp.Or(
		cmp.Compare(bool2int[a.Analytics], bool2int[b.Analytics]),
		cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)),
		cmp.Compare(a.Order, b.Order),
		cmp.Compare(a.Name, b.Name),
	)
}

type printObjects struct {
	outline bool
	parts   map[string][]object
	out     strings.Builder
}

func (p printObjects) all(list []object) string {
	list = slices.SortedFunc(slices.Values(list), inPrintOrder)
	p.parts = map[string][]object{}
	for _, o := range list {
		if o.Parent != "" {
			p.parts[o.Parent] = append(p.parts[o.Parent], o)
		}
	}
	for _, o := range list {
		if o.Parent == "" {
			p.object(o)
		}
	}
	return strings.TrimPrefix(p.out.String(), "\n")
}

func (p *printObjects) object(o object) {
	name := o.schema() + "." + o.Name
	p.out.WriteString("\n")
	switch o.Kind {
	case kindTable, "foreign table":
		p.table(o, name)
	case kindView, "materialized view":
		p.view(o, name)
	case kindFunction, "procedure", "aggregate":
		p.routine(o)
	default:
		fmt.Fprintf(&p.out, "create %s %s %s;\n", o.Kind, name, o.Text)
	}
	p.trailers(o, o.Kind+" "+name)
}

func (p *printObjects) table(o object, name string) {
	var lines, parameters []string
	for _, part := range p.parts[o.key()] {
		switch part.Kind {
		case kindColumn:
			lines = append(lines, "  "+part.Name+" "+part.Text)
		case kindConstraint:
			lines = append(lines, "  constraint "+part.Name+" "+part.Text)
		case kindParameter:
			parameters = append(parameters, part.Name+" = "+part.Text)
		}
	}
	fmt.Fprintf(&p.out, "create %s (\n%s\n)", strings.Join(nonEmpty(o.Kind, name), " "), strings.Join(lines, ",\n"))
	if o.Text != "" {
		fmt.Fprintf(&p.out, " %s", o.Text)
	}
	if len(parameters) > 0 {
		fmt.Fprintf(&p.out, " with (%s)", strings.Join(parameters, ", "))
	}
	p.out.WriteString(";\n")
}

func (p *printObjects) view(o object, name string) {
	fmt.Fprintf(&p.out, "create %s", strings.Join(nonEmpty(o.Kind, name, o.Text), " "))
	if !p.outline {
		fmt.Fprintf(&p.out, " as\n%s\n", strings.TrimRight(o.Body, "\n"))
		return
	}
	var lines []string
	for _, part := range p.parts[o.key()] {
		if part.Kind == kindColumn {
			lines = append(lines, "  "+part.Name+" "+part.Text)
		}
	}
	fmt.Fprintf(&p.out, " (\n%s\n);\n", strings.Join(lines, ",\n"))
}

func (p *printObjects) routine(o object) {
	bare, _, _ := strings.Cut(o.Name, "(")
	fmt.Fprintf(&p.out, "create %s %s.%s", o.Kind, o.schema(), bare)
	if !p.outline {
		fmt.Fprintf(&p.out, "%s\nas $fn$%s$fn$;\n", o.Text, o.Body)
		return
	}
	//nolint:gosec // a fingerprint for readers
	fmt.Fprintf(&p.out, "%s\nas md5 %x;\n", o.Text, md5.Sum([]byte(o.Body)))
}

// trailers prints the parts that stand as statements of their own.
func (p *printObjects) trailers(o object, subject string) {
	for _, part := range p.parts[o.key()] {
		partSubject := part.Kind + " " + part.Name + " on " + o.schema() + "." + o.Name
		switch part.Kind {
		case kindColumn:
			partSubject = "column " + o.schema() + "." + o.Name + "." + part.Name
		case kindIndex:
			partSubject = "index " + o.schema() + "." + part.Name
			fmt.Fprintf(&p.out, "%s;\n", part.Text)
		case "trigger", "rule":
			fmt.Fprintf(&p.out, "%s;\n", part.Text)
		case "policy":
			fmt.Fprintf(&p.out, "create policy %s on %s.%s %s;\n", part.Name, o.schema(), o.Name, part.Text)
		case kindSecurity:
			fmt.Fprintf(&p.out, "alter table %s.%s row level security %s;\n", o.schema(), o.Name, part.Text)
		case kindComment:
			fmt.Fprintf(&p.out, "comment on %s is %s;\n", subject, quoteLiteral(part.Body))
		case kindGrant:
			fmt.Fprintf(&p.out, "grant %s on %s %s;\n", part.Text, subject, part.Name)
		}
		p.trailers(part, partSubject)
	}
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}
