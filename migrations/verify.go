package migrations

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// DriftKind is how an object differs from what its migrations make.
type DriftKind string

// The kinds of drift.
const (
	// DriftMissing objects should be there and are not.
	DriftMissing DriftKind = "missing"
	// DriftChanged objects are there and differ.
	DriftChanged DriftKind = "changed"
	// DriftExtra objects were not made by a migration.
	DriftExtra DriftKind = "extra"
)

// Drift is one difference between the live schema and what this binary ships for its version.
type Drift struct {
	// Detail is a unified diff (shipped to live) of a changed object, or what an extra object does to ours.
	Detail string
	// Harmless is set for extra objects that leave ours as they are: tables, indexes, triggers and functions of a DBA's
	// own, grants to roles. Not harmless are functions that overload ours, since calls may reach them, and grants to PUBLIC.
	Harmless bool
	// Kind of the difference.
	Kind DriftKind
	// Object says which, such as "function langgraph.ancestors(text, text, text, integer)".
	Object string
}

// String is the difference in one line, followed by the detail where there is one.
func (d Drift) String() string {
	line := string(d.Kind) + " " + d.Object
	if d.Detail == "" {
		return line
	}
	return line + "\n" + strings.TrimRight(d.Detail, "\n")
}

// Verify compares the live schema with what this binary ships for the version the schema is at, object by object. It runs
// those migrations into a schema of a unique name, within one transaction that is always rolled back, so it needs CREATE
// on the database, leaves nothing behind, and keeps migrators waiting meanwhile.
//
// Objects that appear only through enable_ functions (store_vectors, what divides tenants, the triggers of guards) and the rights of this schema's own
// roles are not compared. An empty result means no difference.
//
// Errors: ErrNotMigrated, ErrDirty, ErrNewerSchema.
func (m *Migrator) Verify(ctx context.Context) ([]Drift, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer m.disconnect(ctx, conn)
	tx, err := m.begin(ctx, conn)
	if err != nil {
		return nil, m.withCause(ctx, err)
	}
	defer m.rollback(ctx, tx)
	drifts, err := m.compareWithShadow(ctx, tx)
	if err != nil {
		return nil, m.withCause(ctx, err)
	}
	return drifts, nil
}

func (m *Migrator) compareWithShadow(ctx context.Context, tx pgx.Tx) ([]Drift, error) {
	version, err := m.usableVersion(ctx, tx)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, fmt.Errorf("%w: schema %q is at version 0, so there is nothing to verify", ErrNotMigrated, m.config.Schema)
	}
	live, err := readObjects(ctx, tx, m.config.Schema)
	if err != nil {
		return nil, fmt.Errorf("read the catalogs: %w", err)
	}
	shipped, err := m.shippedObjects(ctx, tx, version)
	if err != nil {
		return nil, err
	}
	return m.differences(shipped, live), nil
}

// shippedObjects makes the shadow schema and reads it back, as if it had the live schema's name.
func (m *Migrator) shippedObjects(ctx context.Context, tx pgx.Tx, version int) ([]object, error) {
	shadow, err := m.shadow()
	if err != nil {
		return nil, err
	}
	if err := shadow.mayCreate(ctx, tx); err != nil {
		return nil, err
	}
	if err := shadow.prepare(ctx, tx); err != nil {
		return nil, err
	}
	for _, run := range shadow.list[:version] {
		if err := runScript(ctx, tx, run.up); err != nil {
			return nil, fmt.Errorf("make %s in a schema to compare with: %s: %w", run.name, describe(err), err)
		}
	}
	list, err := readObjects(ctx, tx, shadow.config.Schema)
	if err != nil {
		return nil, fmt.Errorf("read the catalogs: %w", err)
	}
	return renamed(ctx, tx, list, shadow.config.Schema, m.config.Schema)
}

// shadow is this migrator, for a schema whose name nobody else uses.
func (m *Migrator) shadow() (*Migrator, error) {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	config := m.config
	config.Schema = "pgweft_verify_" + hex.EncodeToString(random)
	return New(m.connConfig, &config)
}

func (m *Migrator) mayCreate(ctx context.Context, tx pgx.Tx) error {
	var may bool
	var role, databaseName string
	err := tx.QueryRow(ctx, `select has_database_privilege(current_database(), 'create'), current_user, current_database()`).
		Scan(&may, &role, &databaseName)
	if err == nil && !may {
		err = fmt.Errorf("verify builds a schema to compare with (and rolls it back), which needs CREATE on the database; "+
			"run it as another role, or have a DBA run: grant create on database %s to %s",
			quoteIdentifier(databaseName), quoteIdentifier(role))
	}
	return err
}

// renamed rewrites what was read from schema "from" to what it would be in schema "to". The name "from" occurs nowhere
// else, so every occurrence is the schema: quoted where Render wrote it, bare where Postgres did.
func renamed(ctx context.Context, tx pgx.Tx, list []object, from, to string) ([]object, error) {
	var bare, bareAnalytics string
	if err := tx.QueryRow(ctx, `select quote_ident($1), quote_ident($2)`, to, to+analyticsSuffix).Scan(&bare, &bareAnalytics); err != nil {
		return nil, err
	}
	quoted := tokenReplacer(from)
	deparsed := strings.NewReplacer(from+analyticsSuffix, bareAnalytics, from, bare)
	for i := range list {
		for _, text := range []*string{&list[i].Text, &list[i].Body} {
			rendered, err := renderLoosely(deparsed.Replace(quoted.Replace(*text)), to)
			if err != nil {
				return nil, err
			}
			*text = rendered
		}
	}
	return list, nil
}

func (m *Migrator) differences(shipped, live []object) []Drift {
	c := comparison{schema: m.config.Schema, shipped: byKey(shipped), live: byKey(live), overloadable: map[string]bool{}}
	for _, o := range shipped {
		if routine(o) {
			c.overloadable[routineName(o)] = true
		}
	}
	var drifts []Drift
	for _, o := range slices.SortedFunc(slices.Values(shipped), inPrintOrder) {
		drifts = append(drifts, c.fromShipped(o)...)
	}
	for _, o := range slices.SortedFunc(slices.Values(live), inPrintOrder) {
		drifts = append(drifts, c.fromLive(o)...)
	}
	return drifts
}

func byKey(list []object) map[string]object {
	m := make(map[string]object, len(list))
	for _, o := range list {
		m[o.key()] = o
	}
	return m
}

type comparison struct {
	schema        string
	shipped, live map[string]object
	// overloadable has the names, without arguments, of the functions we ship.
	overloadable map[string]bool
}

func (c comparison) fromShipped(o object) []Drift {
	live, there := c.live[o.key()]
	if !there {
		if _, parentThere := c.live[o.Parent]; o.Parent != "" && !parentThere {
			return nil
		}
		return []Drift{{Kind: DriftMissing, Object: c.name(o)}}
	}
	if live.definition() == o.definition() {
		return nil
	}
	diff := udiff.Unified("shipped", "live", withNewline(o.definition()), withNewline(live.definition()))
	return []Drift{{Kind: DriftChanged, Object: c.name(o), Detail: diff}}
}

func (c comparison) fromLive(o object) []Drift {
	if _, ours := c.shipped[o.key()]; ours || c.optional(o) || c.forOurRoles(o) {
		return nil
	}
	if _, parentOurs := c.shipped[o.Parent]; o.Parent != "" && !parentOurs {
		return nil
	}
	drift := Drift{Kind: DriftExtra, Object: c.name(o), Harmless: true}
	switch {
	case routine(o) && c.overloadable[routineName(o)]:
		drift.Harmless, drift.Detail = false, "It overloads a function of ours, so calls may reach it instead. Drop or rename it."
	case o.Kind == kindGrant && o.Name == "to @owner@":
		drift.Harmless, drift.Detail = false, "Rights were taken from the owner, who is left with: "+o.Text
	case o.Kind == kindGrant && o.Name == "to public":
		drift.Harmless, drift.Detail = false, "Every role may: "+o.Text
	case o.Kind == kindGrant:
		drift.Detail = o.Text
	}
	return []Drift{drift}
}

// optionalObjects are what enable_ functions make.
var optionalObjects = regexp.MustCompile(`^(table @\.store_vectors|` +
	`index checkpoints_tenant_\w+ of table @\.checkpoints|` +
	`trigger (guard_deleted_thread|guard_version|remember_deleted_threads) of table @\.checkpoint(s|_blobs|_writes)|` +
	`((column tenant|policy tenancy_\w+|trigger tenancy_claim) of table @\.\w+))$`)

func (c comparison) optional(o object) bool {
	if o.Kind == kindSecurity {
		// Row-level security without the policies of enable_tenancy is somebody else's, and hides everything.
		_, divided := c.live[object{Kind: "policy", Name: "tenancy_operators", Parent: o.Parent}.key()]
		return divided
	}
	return optionalObjects.MatchString(strings.ReplaceAll(o.key(), sqltext.MainSchema, "@"))
}

// forOurRoles tells the grants that grant_roles makes.
func (c comparison) forOurRoles(o object) bool {
	if o.Kind != kindGrant {
		return false
	}
	grantee := strings.Trim(strings.TrimPrefix(o.Name, "to "), `"`)
	role, ours := strings.CutPrefix(strings.ReplaceAll(grantee, `""`, `"`), c.schema+"_")
	return ours && (role == "app" || role == "reader" || role == "ops")
}

func routine(o object) bool {
	return o.Kind == kindFunction || o.Kind == "procedure" || o.Kind == "aggregate"
}

func routineName(o object) string {
	name, _, _ := strings.Cut(o.Name, "(")
	return o.schema() + "." + name
}

// name is the key as a reader of this schema would write it.
func (c comparison) name(o object) string {
	return strings.NewReplacer(sqltext.AnalyticsSchema, displayName(c.schema+analyticsSuffix),
		sqltext.MainSchema, displayName(c.schema)).Replace(o.key())
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func displayName(schema string) string {
	if plainName.MatchString(schema) {
		return schema
	}
	return quoteIdentifier(schema)
}

func withNewline(text string) string { return strings.TrimRight(text, "\n") + "\n" }
