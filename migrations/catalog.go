package migrations

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// object is one thing in the catalogs that is compared by itself.
type object struct {
	Analytics bool
	Kind      string
	Name      string // within its schema, quoted where SQL needs it; for a part: its name within the parent
	Order     int    // among its siblings of one kind
	Parent    string // key of the object it is a part of
	Body      string // source text of a function or view
	Text      string // the definition without Body
}

func (o object) key() string {
	if o.Parent != "" {
		return o.Kind + " " + o.Name + " of " + o.Parent
	}
	return o.Kind + " " + o.schema() + "." + o.Name
}

func (o object) schema() string {
	if o.Analytics {
		return sqltext.AnalyticsSchema
	}
	return sqltext.MainSchema
}

// definition is everything that has to be equal for two objects to be equal.
func (o object) definition() string {
	if o.Body == "" {
		return o.Text
	}
	return o.Text + "\n" + o.Body
}

const (
	kindTable      = "table"
	kindView       = "view"
	kindFunction   = "function"
	kindColumn     = "column"
	kindConstraint = "constraint"
	kindIndex      = "index"
	kindParameter  = "storage parameter"
	kindSecurity   = "row level security"
	kindComment    = "comment"
	kindGrant      = "grant"
)

// catalogQueries list the objects of two schemas ($1 and $2, the analytics one). Columns of each: kind, analytics, name,
// parent kind, parent name, text, body, comment, grants as "grantee=PRIVILEGES" and their own order. They run with
// search_path set to the main schema, so that what deparsing prints does not depend on its name. Members of extensions and
// golang-migrate's version table are left out, and so is whatever differs between server versions: not-null constraints
// (rows of pg_constraint since 18; the column says it anyway). Who may
// use the schemas themselves is for those who made them.
var catalogQueries = []string{
	relationsQuery, columnsQuery, constraintsQuery, indexesQuery, triggersQuery,
	rulesQuery, policiesQuery, routinesQuery, typesQuery,
}

const ours = `n.nspname in ($1, $2)`

func notExtension(catalog, oid string) string {
	return fmt.Sprintf(`not exists (select from pg_depend d where d.classid = '%s'::regclass and d.objid = %s and d.deptype = 'e')`,
		catalog, oid)
}

// grantsOf lists who may do what. The owner is left out while nothing was taken from it, since that is the default, whose
// list of privileges grows from server version to version.
func grantsOf(acl, kind, owner string) string {
	return fmt.Sprintf(`array(
  select case when g.grantee = 0 then 'public' when g.grantee = %[3]s then '@owner@' else quote_ident(pg_get_userbyid(g.grantee)) end
         || '=' || string_agg(lower(g.privilege_type) || case when g.is_grantable then ' with grant option' else '' end, ', '
                              order by g.privilege_type)
  from aclexplode(coalesce(%[1]s, acldefault(%[2]s, %[3]s))) g
  where g.grantee <> %[3]s
     or exists (select from aclexplode(acldefault(%[2]s, %[3]s)) e
                where e.grantee = %[3]s and not exists (
                  select from aclexplode(coalesce(%[1]s, acldefault(%[2]s, %[3]s))) h
                  where h.grantee = %[3]s and h.privilege_type = e.privilege_type))
  group by g.grantee order by 1)`, acl, kind, owner)
}

const relationKind = `case c.relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view'
  when 'm' then 'materialized view' when 'f' then 'foreign table' when 'S' then 'sequence' end`

const relationOurs = ours + ` and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and not (n.nspname = $1 and c.relname = 'schema_migrations')`

var relationsQuery = `
select ` + relationKind + `, n.nspname = $2, quote_ident(c.relname), '', '',
       concat_ws(' ', case c.relpersistence when 'u' then 'unlogged' end,
                 case when c.relkind = 'p' then 'partition by ' || pg_get_partkeydef(c.oid) end,
                 case when c.relispartition then 'partition' end,
                 case when c.relkind in ('v', 'm') then 'with (' || array_to_string(c.reloptions, ', ') || ')' end,
                 case when c.relkind = 'S' then (select format('as %s start %s increment %s min %s max %s%s', s.seqtypid::regtype,
                   s.seqstart, s.seqincrement, s.seqmin, s.seqmax, case when s.seqcycle then ' cycle' end)
                   from pg_sequence s where s.seqrelid = c.oid) end),
       case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid, true) else '' end,
       obj_description(c.oid, 'pg_class'),
       ` + grantsOf("c.relacl", `case c.relkind when 'S' then 's' else 'r' end::"char"`, "c.relowner") + `, 0
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and ` + notExtension("pg_class", "c.oid") + `
union all
select 'storage parameter', n.nspname = $2, split_part(o, '=', 1), 'table', quote_ident(c.relname),
       substr(o, strpos(o, '=') + 1), '', null, '{}', 0
from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join unnest(c.reloptions) o
where ` + relationOurs + ` and c.relkind in ('r', 'p') and ` + notExtension("pg_class", "c.oid") + `
union all
select 'row level security', n.nspname = $2, 'switch', 'table', quote_ident(c.relname),
       concat_ws(' ', case when c.relrowsecurity then 'enabled' end, case when c.relforcerowsecurity then 'forced' end), '', null, '{}', 0
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and (c.relrowsecurity or c.relforcerowsecurity) and ` + notExtension("pg_class", "c.oid")

var columnsQuery = `
select 'column', n.nspname = $2, quote_ident(a.attname), ` + relationKind + `, quote_ident(c.relname),
       concat_ws(' ', format_type(a.atttypid, a.atttypmod),
                 case when a.attcollation not in (0, t.typcollation) then 'collate ' || a.attcollation::regcollation end,
                 case when a.attstorage <> t.typstorage and c.relkind <> 'v' then 'storage ' || case a.attstorage when 'p' then 'plain'
                   when 'e' then 'external' when 'm' then 'main' else 'extended' end end,
                 case a.attcompression when 'l' then 'compression lz4' when 'p' then 'compression pglz' end,
                 case when a.attnotnull then 'not null' end,
                 case a.attidentity when 'a' then 'generated always as identity' when 'd' then 'generated by default as identity' end,
                 case a.attgenerated when 's' then 'generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
                   when 'v' then 'generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') virtual'
                   else 'default ' || pg_get_expr(d.adbin, d.adrelid) end),
       '', col_description(c.oid, a.attnum),
       array(select case when g.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end || '='
                    || string_agg(lower(g.privilege_type), ', ' order by g.privilege_type)
             from aclexplode(a.attacl) g group by g.grantee order by 1), a.attnum
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where ` + relationOurs + ` and c.relkind <> 'S' and ` + notExtension("pg_class", "c.oid")

var constraintsQuery = `
select 'constraint', n.nspname = $2, quote_ident(o.conname), 'table', quote_ident(c.relname),
       pg_get_constraintdef(o.oid, true), '', obj_description(o.oid, 'pg_constraint'), '{}'::text[],
       case o.contype when 'p' then 0 when 'u' then 1 when 'x' then 2 when 'c' then 3 else 4 end
from pg_constraint o join pg_class c on c.oid = o.conrelid join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and o.contype in ('p', 'u', 'x', 'c', 'f') and ` + notExtension("pg_class", "c.oid")

var indexesQuery = `
select 'index', n.nspname = $2, quote_ident(x.relname), case c.relkind when 'm' then 'materialized view' else 'table' end, quote_ident(c.relname),
       concat_ws(' ', pg_get_indexdef(i.indexrelid, 0, true), case when not i.indisvalid then '(invalid)' end),
       '', obj_description(i.indexrelid, 'pg_class'), '{}'::text[], 0
from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and ` + notExtension("pg_class", "c.oid") + `
  and not exists (select from pg_constraint o where o.conindid = i.indexrelid and o.contype in ('p', 'u', 'x'))`

var triggersQuery = `
select 'trigger', n.nspname = $2, quote_ident(g.tgname), ` + relationKind + `, quote_ident(c.relname),
       concat_ws(' ', pg_get_triggerdef(g.oid, true),
                 case g.tgenabled when 'D' then '(disabled)' when 'R' then '(on replicas only)' when 'A' then '(always)' end),
       '', obj_description(g.oid, 'pg_trigger'), '{}'::text[], 0
from pg_trigger g join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and not g.tgisinternal and ` + notExtension("pg_class", "c.oid")

var rulesQuery = `
select 'rule', n.nspname = $2, quote_ident(r.rulename), ` + relationKind + `, quote_ident(c.relname),
       pg_get_ruledef(r.oid, true), '', obj_description(r.oid, 'pg_rewrite'), '{}'::text[], 0
from pg_rewrite r join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and r.rulename <> '_RETURN' and ` + notExtension("pg_class", "c.oid")

var policiesQuery = `
select 'policy', n.nspname = $2, quote_ident(p.polname), 'table', quote_ident(c.relname),
       concat_ws(' ', case when p.polpermissive then 'permissive' else 'restrictive' end,
                 'for ' || case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
                 'to ' || (select string_agg(case when r = 0 then 'public' else quote_ident(pg_get_userbyid(r)) end, ', ' order by pg_get_userbyid(r)) from unnest(p.polroles) r),
                 'using (' || pg_get_expr(p.polqual, p.polrelid, true) || ')',
                 'with check (' || pg_get_expr(p.polwithcheck, p.polrelid, true) || ')'),
       '', obj_description(p.oid, 'pg_policy'), '{}'::text[], 0
from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
where ` + relationOurs + ` and ` + notExtension("pg_class", "c.oid")

// The text of a routine restates every attribute, as its source does. Settings follow on lines of their own.
var routinesQuery = `
select case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end, n.nspname = $2,
       quote_ident(p.proname) || '(' || array_to_string(array(select format_type(t, null)
         from unnest(p.proargtypes) with ordinality as a(t, i) order by i), ', ') || ')', '', '',
       concat_ws(E'\n',
         '(' || pg_get_function_arguments(p.oid) || ')', 'returns ' || pg_get_function_result(p.oid),
         concat_ws(' ', 'language ' || l.lanname, case p.prokind when 'w' then 'window' end,
           case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
           case when p.proisstrict then 'strict' end, case when p.proleakproof then 'leakproof' end,
           'parallel ' || case p.proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end,
           'security ' || case when p.prosecdef then 'definer' else 'invoker' end,
           'cost ' || p.procost, case when p.proretset then 'rows ' || p.prorows end,
           case when p.prosupport <> 0 then 'support ' || p.prosupport end),
         nullif(array_to_string(array(select 'set ' || s from unnest(p.proconfig) s), E'\n'), '')),
       coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), obj_description(p.oid, 'pg_proc'),
       ` + grantsOf("p.proacl", `'f'::"char"`, "p.proowner") + `, 0
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where ` + ours + ` and ` + notExtension("pg_proc", "p.oid")

var typesQuery = `
select 'type', n.nspname = $2, quote_ident(t.typname), '', '',
       case t.typtype
         when 'c' then 'as (' || (select string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
                                  from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped) || ')'
         when 'e' then 'as enum (' || (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
                                       from pg_enum e where e.enumtypid = t.oid) || ')'
         when 'd' then concat_ws(' ', 'domain', format_type(t.typbasetype, t.typtypmod), case when t.typnotnull then 'not null' end,
                                 'default ' || t.typdefault,
                                 (select string_agg(pg_get_constraintdef(o.oid, true), ' ' order by o.conname) from pg_constraint o
                                  where o.contypid = t.oid and o.contype = 'c'))
         else 'as range (' || (select format_type(r.rngsubtype, null) from pg_range r where r.rngtypid = t.oid) || ')' end,
       '', obj_description(t.oid, 'pg_type'), ` + grantsOf("t.typacl", `'T'::"char"`, "t.typowner") + `, 0
from pg_type t join pg_namespace n on n.oid = t.typnamespace
where ` + ours + ` and ` + notExtension("pg_type", "t.oid") + `
  and (t.typtype in ('e', 'd', 'r') or t.typtype = 'c' and exists (select from pg_class c where c.oid = t.typrelid and c.relkind = 'c'))`

// readObjects lists every object of the schema and its analytics companion. Names of the two schemas in the result are as
// they stand in the catalogs. It changes search_path within the transaction.
func readObjects(ctx context.Context, tx pgx.Tx, schema string) ([]object, error) {
	if _, err := tx.Exec(ctx, `select set_config('search_path', $1, true)`, quoteIdentifier(schema)); err != nil {
		return nil, err
	}
	var list []object
	for _, query := range catalogQueries {
		rows, err := tx.Query(ctx, query, schema, schema+analyticsSuffix)
		if err != nil {
			return nil, err
		}
		found, err := collect(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	_, err := tx.Exec(ctx, `select set_config('search_path', '', true)`)
	return list, err
}

func collect(rows pgx.Rows) ([]object, error) {
	defer rows.Close()
	var list []object
	for rows.Next() {
		var o object
		var parentKind, parentName string
		var comment *string
		var grants []string
		err := rows.Scan(&o.Kind, &o.Analytics, &o.Name, &parentKind, &parentName, &o.Text, &o.Body, &comment, &grants, &o.Order)
		if err != nil {
			return nil, err
		}
		if parentKind != "" {
			o.Parent = object{Kind: parentKind, Name: parentName, Analytics: o.Analytics}.key()
		}
		o.Text = requoteSearchPath(o.Text)
		list = append(list, o)
		list = append(list, partsOf(o, comment, grants)...)
	}
	return list, rows.Err()
}

// partsOf makes objects of the comment and the grants, so that each is compared by itself.
func partsOf(o object, comment *string, grants []string) []object {
	var parts []object
	if comment != nil {
		parts = append(parts, object{Kind: kindComment, Name: "text", Analytics: o.Analytics, Parent: o.key(), Body: *comment})
	}
	for _, grant := range grants {
		at := strings.LastIndexByte(grant, '=')
		parts = append(parts, object{Kind: kindGrant, Name: "to " + grant[:at], Analytics: o.Analytics, Parent: o.key(), Text: grant[at+1:]})
	}
	return parts
}

var searchPathSetting = regexp.MustCompile(`(?m)^set search_path=(.*)$`)

var searchPathName = regexp.MustCompile(`"(?:[^"]|"")*"|[^", ]+`)

// requoteSearchPath quotes every name of a routine's search_path, as Render does, wherever the catalogs saw no need to.
func requoteSearchPath(text string) string {
	return searchPathSetting.ReplaceAllStringFunc(text, func(line string) string {
		names := searchPathName.FindAllString(strings.TrimPrefix(line, "set search_path="), -1)
		for i, name := range names {
			if !strings.HasPrefix(name, `"`) {
				names[i] = quoteIdentifier(name)
			}
		}
		return "set search_path = " + strings.Join(names, ", ")
	})
}
