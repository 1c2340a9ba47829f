package sql_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pgsql "github.com/pgweft/pgweft/sql"
)

var (
	createStatement  = regexp.MustCompile(`(?m)^create or replace (function|procedure|view) (@extschema@(?:_analytics)?)\.(\w+)`)
	anyCreate        = regexp.MustCompile(`(?mi)^\s*(create|alter|drop)\s`)
	commentStatement = regexp.MustCompile(`(?m)^comment on (\w+) ([^\s(]+)`)
	revokeStatement  = regexp.MustCompile(`(?ms)^revoke all on (?:(\w+) )?(@[^\s(]+)[^;]*?\sfrom public;`)
)

func TestSourcesFollowTheConventions(t *testing.T) {
	t.Parallel()
	objects, err := pgsql.Objects()
	require.NoError(t, err)
	require.Greater(t, len(objects), 25)
	for _, object := range objects {
		t.Run(object.Path, func(t *testing.T) {
			t.Parallel()
			requireConventions(t, object)
		})
	}
}

func requireConventions(t *testing.T, object pgsql.Object) {
	t.Helper()
	created := createStatement.FindAllStringSubmatchIndex(object.Text, -1)
	require.Len(t, created, 1, "one object a file, by create or replace")
	before, rest, _ := strings.Cut(object.Text, "$fn$")
	_, after, _ := strings.Cut(rest, "$fn$")
	require.Len(t, anyCreate.FindAllString(before+after, -1), 1)
	at := created[0]
	kind, schema, name := object.Text[at[2]:at[3]], object.Text[at[4]:at[5]], object.Text[at[6]:at[7]]
	require.Equal(t, object.Name, name, "the file is named as its object")
	if schema == "@extschema@_analytics" {
		require.Equal(t, "analytics", object.Room, "what people call is in one room")
	}
	require.False(t, kind == "view" && schema == "@extschema@", "views are for people")

	header := object.Text[:at[0]]
	for line := range strings.Lines(header) {
		require.True(t, strings.HasPrefix(line, "-- "), "the header is a comment: %q", line)
	}
	require.GreaterOrEqual(t, len(header), 40, "the header says what it is for")
	if kind != "view" {
		require.Regexp(t, `(?m)^-- Locks: .+\. Errors: .`, header)
		requireAttributes(t, object.Text[at[0]:], header)
	} else {
		require.Contains(t, object.Text, "with (security_invoker = true)")
	}

	comment := commentStatement.FindStringSubmatchIndex(object.Text)
	require.NotNil(t, comment, "comment on")
	require.Equal(t, kind, object.Text[comment[2]:comment[3]])
	require.Equal(t, schema+"."+name, object.Text[comment[4]:comment[5]])
	revoke := revokeStatement.FindStringSubmatchIndex(object.Text)
	require.NotNil(t, revoke, "revoke all on ... from public")
	require.Equal(t, schema+"."+name, object.Text[revoke[4]:revoke[5]])
	require.Less(t, at[0], comment[0], "header, object, comment, grants: in this order")
	require.Less(t, comment[0], revoke[0], "header, object, comment, grants: in this order")
}

// requireAttributes requires every attribute in the order that the sources have, each on its line.
func requireAttributes(t *testing.T, text, header string) {
	t.Helper()
	head, body, found := strings.Cut(text, "\nas $fn$\n")
	require.True(t, found, "the body is between $fn$ and $fn$")
	require.Contains(t, body, "$fn$;\n")
	attributes := `(?s)\nlanguage (sql|plpgsql)\n(immutable|stable|volatile)\n(strict\n)?parallel (safe|restricted|unsafe)\nsecurity (invoker|definer)(\n|$)`
	if strings.HasPrefix(text, "create or replace procedure") {
		attributes = `(?s)\nlanguage plpgsql\nsecurity (invoker|definer)(\n|$)` // the others are for functions
	}
	require.Regexp(t, attributes, head+"\n")
	if strings.Contains(head, "\nsecurity definer") {
		require.Contains(t, strings.ToLower(header), "security definer", "the header says why")
	}
	require.NotRegexp(t, `(?i)when others`, body, "an error is never swallowed")
}

func TestTheInstalledSchemaIsTheSources(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	objects, err := pgsql.Objects()
	require.NoError(t, err)
	// What tables are made of comes with the tables.
	sources := []string{"checkpoints_touch", "store_text_search", "store_vectors_touch"}
	for _, object := range objects {
		sources = append(sources, object.Name)
	}
	require.ElementsMatch(t, sources, column[string](t, db, `
		select proname from pg_proc where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace)
		union all select relname from pg_class where relnamespace = 'langgraph_analytics'::regnamespace and relkind = 'v'`))
}

func TestTheInstalledSchemaFollowsTheConventions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for name, sql := range map[string]string{
		"functions have no overloads": `
			select proname from pg_proc where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) group by proname having count(*) > 1`,
		"functions are commented in sentences": `
			select oid::regprocedure::text from pg_proc
			where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and coalesce(obj_description(oid, 'pg_proc') !~ '^[[:upper:]].{10,}\.$', true)`,
		"tables and views are commented in sentences": `
			select oid::regclass::text from pg_class
			where relnamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and relkind in ('r', 'p', 'v', 'm')
				and relname <> 'schema_migrations' -- which golang-migrate makes
				and coalesce(obj_description(oid, 'pg_class') !~ '^[[:upper:]].{10,}\.$', true)`,
		"indexes name the query that they serve": `
			select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid
			where c.relnamespace = 'langgraph'::regnamespace
				and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
				and coalesce(obj_description(i.indexrelid, 'pg_class') !~ '.{10,}\.$', true)`,
		"arguments begin with p_": `
			select p.oid::regprocedure::text from pg_proc p
			cross join lateral unnest(p.proargnames, p.proargmodes) a (name, mode)
			where p.pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and coalesce(a.mode in ('i', 'b', 'v'), true) and a.name !~ '^p_'`,
		"results do not begin with p_": `
			select p.oid::regprocedure::text from pg_proc p cross join lateral unnest(p.proargnames, p.proargmodes) a (name, mode)
			where p.pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and a.mode in ('o', 't') and a.name ~ '^[pv]_'`,
		"functions run with the rights of their caller, but for triggers, which no one calls": `
			select oid::regprocedure::text from pg_proc
			where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and prosecdef and prorettype <> 'trigger'::regtype`,
		"functions that run with the rights of their owner say where they look": `
			select oid::regprocedure::text from pg_proc
			where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and prosecdef and not coalesce('search_path=""' = any (proconfig), false)`,
		"functions that write are not parallel safe": `
			select oid::regprocedure::text from pg_proc
			where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and proparallel = 's' and prosrc ~* '\m(insert into|update|delete from)\M'`,
		"functions that read tables are not immutable": `
			select oid::regprocedure::text from pg_proc
			where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and provolatile = 'i' and prosrc ~* 'from "?langgraph"?\.(checkpoint|store|settings)'`,
		"views are read with the rights of their reader": `
			select oid::regclass::text from pg_class
			where relnamespace = 'langgraph_analytics'::regnamespace and relkind = 'v' and not coalesce('security_invoker=true' = any (reloptions), false)`,
		"text in keys sorts by byte": `
			select a.attrelid::regclass || '.' || a.attname from pg_index i
			join pg_class c on c.oid = i.indrelid
			join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
			where c.relnamespace = 'langgraph'::regnamespace and a.atttypid = 'text'::regtype and a.attcollation <> '"C"'::regcollation`,
		"no table has an index on thread_id alone": `
			select i.indexrelid::regclass::text from pg_index i
			join pg_class c on c.oid = i.indrelid
			join pg_attribute a on a.attrelid = c.oid and a.attname = 'thread_id'
			where c.relnamespace = 'langgraph'::regnamespace and not i.indisprimary and i.indkey::text = a.attnum::text`,
		"functions for people only read": `
			select oid::regprocedure::text from pg_proc where pronamespace = 'langgraph_analytics'::regnamespace and provolatile = 'v'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, column[string](t, db, sql))
		})
	}
}
