package migrations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// planAdoption looks at what is there, refuses what cannot be adopted with every reason at once, and lists the steps.
func (m *Migrator) planAdoption(ctx context.Context, tx pgx.Tx, from string) (*Adoption, error) {
	seen, err := m.inspect(ctx, tx, from)
	if err != nil {
		return nil, m.withCause(ctx, err)
	}
	if reasons := seen.objections(); len(reasons) > 0 {
		return nil, &NotAdoptableError{From: from, Reasons: reasons}
	}
	p := planner{inspection: seen, plan: &Adoption{From: from, Schema: m.config.Schema}}
	return p.make(), nil
}

// planner turns what was seen into steps.
type planner struct {
	*inspection
	plan *Adoption
}

func (p *planner) make() *Adoption {
	p.plan.Found = p.dialects()
	p.step("", "Nobody reads or writes the tables from here to the commit.", "lock table "+p.lockList()+" in access exclusive mode")
	for _, known := range langgraphTables {
		if found := p.tables[known.name]; found != nil {
			p.plan.present = append(p.plan.present, known.name)
			p.adoptTable(known, found)
		}
	}
	p.grantUsage()
	p.plan.Notes = p.notes()
	return p.plan
}

func (p *planner) lockList() string {
	var names []string
	for _, known := range langgraphTables {
		if p.tables[known.name] != nil {
			names = append(names, p.old(known.name))
		}
	}
	return strings.Join(names, ", ")
}

func (p *planner) step(table, purpose, sql string) {
	p.plan.Steps = append(p.plan.Steps, AdoptionStep{Purpose: purpose, SQL: sql, table: table})
}

func (p *planner) old(table string) string {
	return quoteIdentifier(p.from) + "." + quoteIdentifier(table)
}

func (p *planner) at(name string) string {
	return quoteIdentifier(p.schema) + "." + quoteIdentifier(name)
}

func (p *planner) adoptTable(known langgraphTable, found *foundTable) {
	// The table of vectors is made by no migration; it follows the table it refers to.
	slot := cmp.Or(known.follows, known.name)
	if p.from != p.schema {
		p.step(slot, "Its indexes and constraints move along; no row is touched.",
			"alter table "+p.old(known.name)+" set schema "+quoteIdentifier(p.schema))
	}
	for _, index := range known.dropped {
		if p.indexes[index] == known.name {
			p.step(slot, "It serves no query that the primary key or our own indexes do not.", "drop index "+p.at(index))
		}
	}
	if known.data {
		rewritten := p.reshape(slot, known, found)
		p.plan.Tables = append(p.plan.Tables, AdoptedTable{
			Name: known.name, Rows: found.rows, Bytes: found.tableBytes + found.indexBytes, Rewritten: rewritten,
			Estimate: estimate(known, found, rewritten),
		})
	}
}

// reshape adds and changes columns. It reports whether that writes every row anew.
func (p *planner) reshape(slot string, known langgraphTable, found *foundTable) bool {
	var added, changed []string
	rewritten := false
	for _, c := range known.columns {
		if _, there := found.columns[c.name]; !there {
			added = append(added, "add column "+c.definition())
		}
		if actions := c.actions(found); len(actions) > 0 {
			changed = append(changed, actions...)
			rewritten = rewritten || c.rewrites(found)
		}
	}
	if known.fillfactor > 0 {
		changed = append(changed, fmt.Sprintf("set (fillfactor = %d)", known.fillfactor))
	}
	if len(added) > 0 {
		p.step(slot, "Without writing any row.", "alter table "+p.at(known.name)+"\n  "+strings.Join(added, ",\n  "))
	}
	for _, fill := range known.fill {
		p.step(slot, "What LangGraph lets be null, and never leaves so.", fmt.Sprintf(fill, p.at(known.name)))
	}
	if len(changed) > 0 {
		purpose := "Builds its indexes anew, in the order of bytes; no row is written."
		if rewritten {
			purpose = "Writes every row anew and builds its indexes."
		}
		p.step(slot, purpose, "alter table "+p.at(known.name)+"\n  "+strings.Join(changed, ",\n  "))
	}
	return rewritten
}

// grantUsage lets the roles that used the tables reach them in their new schema.
func (p *planner) grantUsage() {
	if p.from == p.schema {
		return
	}
	for _, role := range p.roles {
		p.step("", "This role may use the tables, and has to reach them in their new schema.",
			"grant usage on schema "+quoteIdentifier(p.schema)+" to "+role)
	}
}

func (p *planner) notes() []string {
	notes := slices.Clone(p.remarks)
	if p.from != p.schema {
		notes = append(notes, fmt.Sprintf("LangGraph's libraries find the tables by search_path from now on: add "+
			"options=-c search_path=%s to their connection strings. Until then they find no tables, and one that calls setup() "+
			"makes new, empty ones.", p.searchPath()))
	}
	if p.tables["checkpoints"] != nil {
		notes = append(notes, "created_at of a checkpoint becomes the time in it; of values and writes, which have none, the "+
			"time of the adoption.")
	}
	return notes
}

// searchPath has the extension's schema where LangGraph's store needs its type and operators, which it does not qualify.
func (p *planner) searchPath() string {
	if p.tables["store_vectors"] == nil || p.vectorSchema == "" || p.vectorSchema == p.schema {
		return p.schema
	}
	return p.schema + "," + p.vectorSchema
}

// What a small server does in a second: half of what was measured on two cores with the data in memory.
const (
	rewrittenBytesPerSecond = 60 << 20
	indexedRowsPerSecond    = 500_000
	containedRowsPerSecond  = 100_000 // in the GIN index of metadata
)

func estimate(known langgraphTable, found *foundTable, rewritten bool) time.Duration {
	seconds := float64(known.indexes) * float64(found.rows) / indexedRowsPerSecond
	seconds += float64(known.containment) * float64(found.rows) / containedRowsPerSecond
	if rewritten {
		seconds += float64(found.tableBytes) / rewrittenBytesPerSecond
	}
	return time.Duration(seconds * float64(time.Second))
}
