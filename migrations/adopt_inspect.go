package migrations

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// inspection is what stands in the schema to adopt from, and what would be in the way.
type inspection struct {
	from, schema string
	tables       map[string]*foundTable
	// versions of LangGraph's migrations; a part whose version table is missing or empty is not in it.
	versions map[adoptedPart]int
	// indexes of the tables and the table each belongs to; invalid those that were never finished.
	indexes map[string]string
	invalid []string
	// roles that may use the tables and not the schema they move to, quoted.
	roles []string
	// dependents are objects that keep a column from changing.
	dependents []string
	// inTheWay are names of the schema to adopt into that our tables need.
	inTheWay []string
	// byText and byNumber are whether checkpoints with versions of these kinds were seen.
	byText, byNumber bool
	// version of the schema to adopt into; foreignVersionTable is set when that is another tool's.
	version             int
	foreignVersionTable bool
	fromIsOurs          bool
	fromExists          bool
	role                string
	// vectorSchema is where pgvector's types and operators are; empty without the extension.
	vectorSchema string
	remarks      []string
}

type foundTable struct {
	name       string
	kind       string // pg_class.relkind
	related    bool   // a partition, or part of an inheritance tree
	owner      string
	ours       bool // the role may do what an owner may
	columns    map[string]foundColumn
	rows       int64
	tableBytes int64
	indexBytes int64
}

type foundColumn struct {
	kind    string
	notNull bool
}

func (m *Migrator) inspect(ctx context.Context, tx pgx.Tx, from string) (*inspection, error) {
	seen := &inspection{from: from, schema: m.config.Schema}
	for _, look := range []func(context.Context, pgx.Tx) error{
		seen.lookAtSchemas, seen.lookAtTables, seen.lookAtColumns, seen.lookAtIndexes, seen.lookAtDependents,
	} {
		if err := look(ctx, tx); err != nil {
			return nil, fmt.Errorf("look at schema %q: %w", from, err)
		}
	}
	// What follows reads the tables, which have to be what they seem.
	if len(seen.objections()) > 0 {
		return seen, nil
	}
	for _, look := range []func(context.Context, pgx.Tx) error{seen.lookAtRows, seen.lookAtVersions, seen.lookAtRoles} {
		if err := look(ctx, tx); err != nil {
			return nil, fmt.Errorf("look at schema %q: %w", from, err)
		}
	}
	return seen, nil
}

func tableNames() []string {
	names := make([]string, len(langgraphTables))
	for i, t := range langgraphTables {
		names[i] = t.name
	}
	return names
}

func (i *inspection) lookAtSchemas(ctx context.Context, tx pgx.Tx) error {
	var columns *string
	err := tx.QueryRow(ctx, `
		select exists (select from pg_namespace where nspname = $1), current_user,
		       coalesce((select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'), ''),
		       exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
		               where n.nspname = $1 and c.relname = 'checkpoint_pins'),
		       coalesce((select array_agg(c.relname::text order by c.relname::text) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		                 where n.nspname = $2 and $1 <> $2 and c.relname = any($3)), '{}'),
		       (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
		        from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
		        where n.nspname = $2 and c.relname = 'schema_migrations' and a.attnum > 0 and not a.attisdropped)`,
		i.from, i.schema, tableNames()).Scan(&i.fromExists, &i.role, &i.vectorSchema, &i.fromIsOurs, &i.inTheWay, &columns)
	if err != nil || columns == nil {
		return err
	}
	if *columns != "version bigint, dirty boolean" {
		i.foreignVersionTable = true
		return nil
	}
	return tx.QueryRow(ctx, `select coalesce(max(version), 0) from `+quoteIdentifier(i.schema)+`.schema_migrations`).Scan(&i.version)
}

func (i *inspection) lookAtTables(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select c.relname, c.relkind::text, c.relispartition or exists (select from pg_inherits h where c.oid in (h.inhrelid, h.inhparent)),
		       quote_ident(pg_get_userbyid(c.relowner)), pg_has_role(c.relowner, 'usage'), c.reltuples,
		       coalesce(pg_table_size(c.oid), 0), coalesce(pg_indexes_size(c.oid), 0)
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = any($2) and c.relkind in ('r', 'p', 'v', 'm', 'f')`, i.from, tableNames())
	if err != nil {
		return err
	}
	i.tables = map[string]*foundTable{}
	for rows.Next() {
		t := &foundTable{columns: map[string]foundColumn{}}
		var tuples float64
		if err := rows.Scan(&t.name, &t.kind, &t.related, &t.owner, &t.ours, &tuples, &t.tableBytes, &t.indexBytes); err != nil {
			return err
		}
		t.rows = int64(tuples)
		i.tables[t.name] = t
	}
	return rows.Err()
}

func (i *inspection) lookAtColumns(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select c.relname, a.attname, format_type(a.atttypid, null), a.attnotnull
		from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = any($2) and a.attnum > 0 and not a.attisdropped`, i.from, slices.Collect(maps.Keys(i.tables)))
	if err != nil {
		return err
	}
	var table, column string
	var found foundColumn
	_, err = pgx.ForEachRow(rows, []any{&table, &column, &found.kind, &found.notNull}, func() error {
		i.tables[table].columns[column] = found
		return nil
	})
	return err
}

func (i *inspection) lookAtIndexes(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select x.relname, c.relname, i.indisvalid
		from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid
		join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $1 and c.relname = any($2) order by 1`, i.from, slices.Collect(maps.Keys(i.tables)))
	if err != nil {
		return err
	}
	i.indexes = map[string]string{}
	var index, table string
	var valid bool
	_, err = pgx.ForEachRow(rows, []any{&index, &table, &valid}, func() error {
		i.indexes[index] = table
		if !valid {
			i.invalid = append(i.invalid, index)
		}
		return nil
	})
	return err
}

// lookAtDependents finds what makes Postgres refuse to change the type or collation of a column.
func (i *inspection) lookAtDependents(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select distinct regexp_replace(pg_describe_object(d.classid, d.objid, 0), '^rule "?_RETURN"? on ', '') || ' (by column ' || a.attname || ' of ' || c.relname || ')'
		from pg_depend d
		join pg_class c on c.oid = d.refobjid
		join pg_namespace n on n.oid = c.relnamespace
		join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
		left join pg_attrdef f on d.classid = 'pg_attrdef'::regclass and f.oid = d.objid
		left join pg_attribute g on g.attrelid = f.adrelid and g.attnum = f.adnum and g.attgenerated <> ''
		where d.refclassid = 'pg_class'::regclass and n.nspname = $1 and c.relname = any($2)
		  and (d.classid in ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass,
		                     'pg_publication_rel'::regclass)
		       or g.attname is not null)
		  and a.attname = any($3)
		order by 1`, i.from, slices.Collect(maps.Keys(i.tables)), changedColumns())
	if err != nil {
		return err
	}
	i.dependents, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

func changedColumns() []string {
	var names []string
	for _, t := range langgraphTables {
		for _, c := range t.columns {
			if c.collateC || c.name == "ttl_minutes" {
				names = append(names, c.name)
			}
		}
	}
	return names
}

// lookAtRows counts where the server has no statistics, and looks into checkpoints all over their table for whose they are.
func (i *inspection) lookAtRows(ctx context.Context, tx pgx.Tx) error {
	for _, known := range langgraphTables {
		if t := i.tables[known.name]; t != nil && t.rows < 0 {
			if err := tx.QueryRow(ctx, `select count(*) from `+quoteIdentifier(i.from)+"."+known.name).Scan(&t.rows); err != nil {
				return err
			}
		}
	}
	checkpoints := i.tables["checkpoints"]
	if checkpoints == nil {
		return nil
	}
	const sampledBytes = 64 << 20
	percent := min(100, 100*float64(sampledBytes)/float64(max(checkpoints.tableBytes, 1)))
	return tx.QueryRow(ctx, `
		select coalesce(bool_or(v.kind = 'string'), false), coalesce(bool_or(v.kind = 'number'), false)
		from `+quoteIdentifier(i.from)+`.checkpoints c tablesample system (`+fmt.Sprintf("%f", percent)+`),
		lateral (select jsonb_typeof(e.value) as kind
		         from jsonb_each(case jsonb_typeof(c.checkpoint -> 'channel_versions') when 'object' then c.checkpoint -> 'channel_versions'
		                         else '{}' end) e) v`).Scan(&i.byText, &i.byNumber)
}

func (i *inspection) lookAtVersions(ctx context.Context, tx pgx.Tx) error {
	i.versions = map[adoptedPart]int{}
	for part, table := range versionTables {
		if i.tables[table] == nil {
			continue
		}
		var version *int
		if err := tx.QueryRow(ctx, `select max(v) from `+quoteIdentifier(i.from)+"."+table).Scan(&version); err != nil {
			return err
		}
		if version != nil {
			i.versions[part] = *version
		}
	}
	i.remark()
	return nil
}

// lookAtRoles finds who may use the tables, and could no longer reach them.
func (i *inspection) lookAtRoles(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select distinct case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) g
		left join pg_namespace s on s.nspname = $3
		where n.nspname = $1 and c.relname = any($2)
		  and case when s.oid is null then g.grantee <> current_user::regrole
		           when g.grantee = 0 then not exists (select from aclexplode(s.nspacl) a where a.grantee = 0 and a.privilege_type = 'USAGE')
		           else not has_schema_privilege(g.grantee, s.oid, 'usage') end
		order by 1`, i.from, slices.Collect(maps.Keys(i.tables)), i.schema)
	if err != nil {
		return err
	}
	i.roles, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// objections are the reasons, if any, why this cannot be adopted.
func (i *inspection) objections() []string {
	var reasons []string
	object := func(format string, arguments ...any) { reasons = append(reasons, fmt.Sprintf(format, arguments...)) }
	switch {
	case !i.fromExists:
		object("there is no such schema")
	case i.fromIsOurs:
		object("it is a schema of pgweft already; run: migrate version --schema %s", shellQuote(i.from))
	case len(i.tables) == 0:
		object("it has no table of LangGraph's (%s)", strings.Join(tableNames(), ", "))
	}
	i.objectToTarget(object)
	for _, known := range langgraphTables {
		if found := i.tables[known.name]; found != nil {
			i.objectToTable(known, found, object)
		}
	}
	if i.tables["store_vectors"] != nil && i.tables["store"] == nil {
		object("there is a table store_vectors and no table store")
	}
	for part, version := range i.versions {
		if latest := latestOfLangGraph[part]; version > latest {
			object("the %s are at version %d of LangGraph's migrations, and this build knows them up to %d; use a newer build",
				part, version, latest)
		}
	}
	for _, d := range i.dependents {
		object("%s keeps a column from changing; drop it, adopt, and make it again", d)
	}
	return reasons
}

func (i *inspection) objectToTarget(object func(string, ...any)) {
	switch {
	case i.fromIsOurs:
	case i.foreignVersionTable:
		object("schema %q has a table schema_migrations of another tool, and pgweft keeps its version in a table of that name; "+
			"adopt into another schema with --schema", i.schema)
	case i.version > 0 && i.from == i.schema:
		object("the table schema_migrations in it says version %d: it is another tool's, or what an adoption began; "+
			"adopt into another schema with --schema", i.version)
	case i.version > 0:
		object("schema %q is at version %d already; tables can be adopted only into a schema without them, named with --schema",
			i.schema, i.version)
	case len(i.inTheWay) > 0:
		object("schema %q has tables of these names already: %s; adopt into another schema with --schema", i.schema,
			strings.Join(i.inTheWay, ", "))
	}
}

func (i *inspection) objectToTable(known langgraphTable, found *foundTable, object func(string, ...any)) {
	_, namespacePath := found.columns["namespace_path"]
	_, hasID := found.columns["checkpoint_id"]
	_, hasVersion := found.columns["version"]
	switch {
	case namespacePath && (known.name == "store" || known.name == "store_vectors"):
		object("table %s is of LangGraph's JavaScript store, whose columns are others (namespace_path) and whose search differs, so "+
			"pgweft and LangGraph's Python store cannot use it; leave it to JavaScript in a schema of its own: alter table %s.%s set schema ...",
			known.name, quoteIdentifier(i.from), known.name)
		return
	case known.name == "checkpoints" && !hasID && len(found.columns) > 0, known.name == "checkpoint_blobs" && !hasVersion && len(found.columns) > 0:
		object("table %s is of LangGraph's ShallowPostgresSaver, or no table of LangGraph's: it has no %s", known.name,
			map[string]string{"checkpoints": "checkpoint_id", "checkpoint_blobs": "version"}[known.name])
		return
	case found.kind != "r":
		object("%s is not an ordinary table (it is a view, or partitioned, or foreign)", known.name)
		return
	case found.related:
		object("table %s is a partition or inherits from another table, which keeps its columns from changing", known.name)
	case !found.ours:
		object("table %s belongs to role %s, and only its owner may move or change it; adopt as that role or as one that has "+
			"all the rights of it, not as %s", known.name, found.owner, quoteIdentifier(i.role))
	}
	i.objectToColumns(known, found, object)
}

func (i *inspection) objectToColumns(known langgraphTable, found *foundTable, object func(string, ...any)) {
	for _, name := range slices.Sorted(maps.Keys(known.required)) {
		if column, there := found.columns[name]; !there {
			object("table %s has no column %s, so it is none of LangGraph's", known.name, name)
		} else if kind := known.required[name]; kind != "" && column.kind != kind {
			object("column %s of table %s is of type %s, and LangGraph's is %s", name, known.name, column.kind, kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known.optional)) {
		if column, there := found.columns[name]; there && column.kind != known.optional[name] {
			object("column %s of table %s is of type %s, and LangGraph's is %s", name, known.name, column.kind, known.optional[name])
		}
	}
	for _, c := range known.columns {
		if column, there := found.columns[c.name]; c.ours && there && column.kind != c.kind {
			object("table %s has a column %s of its own, of type %s, and pgweft keeps a %s under that name; rename it", known.name, c.name,
				column.kind, c.kind)
		}
	}
}

// remark notes what is odd and no reason to refuse.
func (i *inspection) remark() {
	remark := func(format string, arguments ...any) {
		i.remarks = append(i.remarks, fmt.Sprintf(format, arguments...))
	}
	if i.byNumber {
		remark("Some checkpoints have integer versions, as LangGraph's JavaScript saver makes them; its threads stay its own, and after " +
			"a fork there may be values lost already. \"pgweft fsck\" names them.")
	}
	for _, known := range langgraphTables {
		found := i.tables[known.name]
		if found == nil {
			continue
		}
		if found.owner != quoteIdentifier(i.role) && strings.Trim(found.owner, `"`) != i.role {
			remark("Table %s still belongs to role %s, which may change or drop it.", known.name, found.owner)
		}
		for _, name := range slices.Sorted(maps.Keys(known.optional)) {
			if _, there := found.columns[name]; !there && i.versions[known.part] == latestOfLangGraph[known.part] {
				remark("LangGraph's version table says that column %s of table %s is there, and it is not; it is made now.", name, known.name)
			}
		}
	}
	for _, index := range i.invalid {
		if slices.Contains(droppedIndexes(), index) {
			remark("Index %s was never finished (a CREATE INDEX CONCURRENTLY that failed); it is not needed and goes.", index)
		} else {
			remark("Index %s was never finished, so no query uses it; mend it with: reindex index concurrently %s.%s", index,
				quoteIdentifier(i.schema), quoteIdentifier(index))
		}
	}
	if i.tables["checkpoint_migrations"] != nil {
		for _, name := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
			if i.tables[name] == nil {
				remark("LangGraph's setup() did not get as far as table %s; it is made, empty.", name)
			}
		}
	}
}

func droppedIndexes() []string {
	var names []string
	for _, t := range langgraphTables {
		names = append(names, t.dropped...)
	}
	return names
}

// dialects names the libraries whose tables these are.
func (i *inspection) dialects() []AdoptedDialect {
	var found []AdoptedDialect
	add := func(name string, part adoptedPart, tables ...string) {
		for _, table := range tables {
			if i.tables[table] != nil {
				version, known := i.versions[part]
				if !known {
					version = -1
				}
				found = append(found, AdoptedDialect{Name: name, Version: version, Latest: latestOfLangGraph[part]})
				return
			}
		}
	}
	add(i.saver(), partCheckpoints, "checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
	add("LangGraph's Python store", partStore, "store", "store_migrations")
	add("vectors of LangGraph's Python store", partVectors, "store_vectors", "vector_migrations")
	return found
}

// saver tells the two savers apart, whose tables are the same, by the versions they write. Only Python's goes beyond
// migration 4.
func (i *inspection) saver() string {
	const lastOfJavaScript = 4
	switch {
	case i.byText && i.byNumber:
		return "LangGraph's Python and JavaScript savers"
	case i.byNumber:
		return "LangGraph's JavaScript saver"
	case i.byText || i.versions[partCheckpoints] > lastOfJavaScript:
		return "LangGraph's Python saver"
	}
	return "LangGraph's Python or JavaScript saver, which left no checkpoint"
}
