package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	sources "github.com/pgweft/pgweft/sql"
)

// function is a source file that keeps every rule.
func function(name, language, body string) string {
	return `-- What ` + name + ` is for. Locks: none. Errors: none.
create or replace function @extschema@.` + name + `(p_id text)
returns void
language ` + language + `
as $fn$
` + body + `
$fn$;

comment on function @extschema@.` + name + `(text) is 'See @extschema@.anything';
revoke all on function @extschema@.` + name + `(text) from public;
`
}

func view(name, query string) string {
	return "-- What it shows.\ncreate or replace view @extschema@_analytics." + name + " as " + query +
		";\ncomment on view @extschema@_analytics." + name + " is 'x';\n"
}

func tree(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{
		"migrations/migrations.sum":      {Data: []byte("# none\n")},
		"migrations/000001_t.up.sql":     {Data: []byte("create table @extschema@.checkpoints (id int);\n")},
		"migrations/000001_t.down.sql":   {Data: []byte("drop table @extschema@.checkpoints;\n")},
		"sql/schema.sql":                 {Data: []byte("not a source")},
		"sql/checkpoints/zz_default.sql": {Data: []byte(function("zz_default", "plpgsql", "begin end"))},
	}
	for name, text := range files {
		all["sql/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func created(t *testing.T, up string) []string {
	t.Helper()
	var paths []string
	for line := range strings.Lines(up) {
		if path, ok := strings.CutPrefix(line, "-- sql/"); ok {
			paths = append(paths, strings.TrimSuffix(strings.TrimSpace(path), ".sql"))
		}
	}
	return paths
}

func TestObjectsAreCreatedAfterWhatTheyReferTo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{
			"rooms, then names, where nothing refers to anything",
			map[string]string{
				"store/a.sql": function("a", "plpgsql", "begin end"), "msgpack/c.sql": function("c", "plpgsql", "begin end"),
				"msgpack/b.sql": function("b", "plpgsql", "begin end"), "admin/d.sql": function("d", "plpgsql", "begin end"),
			},
			[]string{"msgpack/b", "msgpack/c", "admin/d", "checkpoints/zz_default", "store/a"},
		},
		{
			"a reference in a body is followed",
			map[string]string{"msgpack/a.sql": function("a", "plpgsql", "begin perform @extschema@.zz_default('x'); end")},
			[]string{"checkpoints/zz_default", "msgpack/a"},
		},
		{
			"a reference in a comment is not",
			map[string]string{"msgpack/a.sql": function("a", "plpgsql", "begin -- @extschema@.zz_default\nend")},
			[]string{"msgpack/a", "checkpoints/zz_default"},
		},
		{
			"PL/pgSQL functions may call each other",
			map[string]string{
				"msgpack/a.sql": function("a", "plpgsql", "begin perform @extschema@.b('x'); end"),
				"msgpack/b.sql": function("b", "plpgsql", "begin perform @extschema@.a('x'); end"),
			},
			[]string{"checkpoints/zz_default", "msgpack/a", "msgpack/b"},
		},
		{
			"what an SQL function needs goes before a circle is broken",
			map[string]string{
				"msgpack/a.sql": function("a", "plpgsql", "begin perform @extschema@.b('x'); end"),
				"msgpack/b.sql": function("b", "sql", "select @extschema@.a('x')"),
			},
			[]string{"checkpoints/zz_default", "msgpack/a", "msgpack/b"},
		},
		{
			"views go last, unless a function needs one",
			map[string]string{
				"analytics/v.sql": view("v", "select 1"),
				"analytics/w.sql": view("w", "select 1 from @extschema@_analytics.z"),
				"analytics/z.sql": view("z", "select 1"),
				"analytics/f.sql": function("f", "sql", "select from @extschema@_analytics.v"),
			},
			[]string{"checkpoints/zz_default", "analytics/v", "analytics/f", "analytics/z", "analytics/w"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up, _, err := functions(tree(test.files))
			require.NoError(t, err)
			require.Equal(t, test.want, created(t, up))
		})
	}
}

func TestTheDownMigrationDropsInReverse(t *testing.T) {
	t.Parallel()
	_, down, err := functions(tree(map[string]string{
		"analytics/v.sql": view("v", "select @extschema@.zz_default('x')"),
		"msgpack/pair.sql": "-- A pair.\ncreate type @extschema@.pair as (a int);\n" +
			"comment on type @extschema@.pair is 'x';\n",
		"admin/guard.sql": "-- Guards.\ncreate or replace trigger guard before insert on @extschema@.checkpoints\n" +
			"for each row execute function @extschema@.zz_default();\ncomment on trigger guard on @extschema@.checkpoints is 'x';\n",
	}))
	require.NoError(t, err)
	require.Equal(t, header+`
drop view if exists @extschema@_analytics.v;
drop trigger if exists guard on @extschema@.checkpoints;
drop function if exists @extschema@.zz_default;
drop type if exists @extschema@.pair;
`, down)
}

func TestSourcesThatBreakARuleAreRefused(t *testing.T) {
	t.Parallel()
	good := function("f", "plpgsql", "begin end")
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			panic(old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct{ name, text, want string }{
		{"another name than the file's", function("g", "plpgsql", "begin end"), "it must be g.sql"},
		{"an empty file", "-- nothing\n", "the file is empty"},
		{"no header comment", good[strings.Index(good, "create"):], "must begin with a comment"},
		{"no schema", swap("function @extschema@.f", "function f"), "qualified by @extschema@"},
		{"no replace", swap("create or replace", "create"), `write "create or replace function"`},
		{"no comment on", good[:strings.Index(good, "comment")] + good[strings.Index(good, "revoke"):], `"comment on" statement is missing`},
		{"no revoke", good[:strings.Index(good, "revoke")], `"revoke ... from public" statement is missing`},
		{"the wrong order", good[:strings.Index(good, "comment")] + good[strings.Index(good, "revoke"):] + good[strings.Index(good, "comment on"):strings.Index(good, "revoke")], `"comment on" statement is missing`},
		{"a statement of another kind", good + "select 1;\n", "line 11: unexpected statement"},
		{"another tag", strings.ReplaceAll(good, "$fn$", "$$"), "bodies are quoted with $fn$, not $$"},
		{"no dollar quotes", strings.ReplaceAll(good, "$fn$", "'"), "a function has 1 bodies between $fn$ tags"},
		{"the tag in a comment", good + "-- $fn$\n", "stands nowhere else"},
		{"a missing semicolon", strings.TrimSuffix(good, ";\n"), "does not end in a semicolon"},
		{"an unqualified call", function("f", "plpgsql", "begin\n perform zz_default('x'); end"), "line 7: zz_default( is not qualified"},
		{"an unqualified table", function("f", "plpgsql", "begin\n perform 1 from checkpoints; end"), "line 7: table checkpoints is not qualified"},
		{"the token as a name", function("f", "plpgsql", "begin perform 1 where nspname = '@extschema@'; end"), "compare oids"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := functions(tree(map[string]string{"admin/f.sql": test.text}))
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "sql/admin/f.sql: ")
		})
	}
}

func TestNamesThatAreNoReferencesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"begin perform '@extschema@.checkpoints'::regclass; end",
		"begin perform c.zz_default from @extschema@.checkpoints c; end",
		"begin if 1 is distinct from checkpoints then end if; end",
		"begin perform 1 from x; with checkpoints as (select 1) select * from checkpoints; end",
		"begin raise 'from checkpoints, zz_default(1)'; end",
	} {
		_, _, err := functions(tree(map[string]string{"admin/f.sql": function("f", "plpgsql", body)}))
		require.NoError(t, err, body)
	}
}

func TestWhatCannotBeOrderedOrToldApartIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{
			"SQL functions that need each other",
			map[string]string{"admin/a.sql": function("a", "sql", "select @extschema@.b('x')"), "admin/b.sql": function("b", "sql", "select @extschema@.a('x')")},
			"sql/admin/a.sql needs @extschema@.b\n  sql/admin/b.sql needs @extschema@.a",
		},
		{
			"one object in two rooms",
			map[string]string{"admin/a.sql": function("a", "sql", "select 1"), "store/a.sql": function("a", "sql", "select 1")},
			"there are no overloads",
		},
		{"a room that is none", map[string]string{"misc/a.sql": function("a", "sql", "select 1")}, `"misc" is not a room`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := functions(tree(test.files))
			require.ErrorContains(t, err, test.want)
		})
	}
}

// write lays a tree out on disk.
func write(t *testing.T, files fstest.MapFS) (string, fs.FS) {
	t.Helper()
	root := t.TempDir()
	for name, file := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, file.Data, 0o600))
	}
	return root, os.DirFS(root)
}

func TestCheckPassesOnWhatGenerateWroteAndNamesWhatIsStale(t *testing.T) {
	t.Parallel()
	root, dir := write(t, tree(nil))
	checking, writing := keeper{root: root, check: true}, keeper{root: root}
	require.ErrorContains(t, run(t.Context(), dir, checking, false), "migrations/000004_functions.up.sql is missing")
	require.NoError(t, run(t.Context(), dir, writing, false))
	require.NoError(t, run(t.Context(), dir, checking, false))

	source := filepath.Join(root, "sql", "checkpoints", "zz_default.sql")
	require.NoError(t, os.WriteFile(source, []byte(function("zz_default", "plpgsql", "begin null; end")), 0o600))
	err := run(t.Context(), dir, checking, false)
	require.ErrorContains(t, err, "migrations/000004_functions.up.sql is out of date; run \"make generate\"")
	require.ErrorContains(t, err, "is:        begin end\n  should be: begin null; end")
}

func TestReleasedMigrationsAreFrozen(t *testing.T) {
	t.Parallel()
	files := tree(nil)
	table := files["migrations/000001_t.up.sql"].Data
	with := func(sum string) fstest.MapFS {
		changed := maps.Clone(files)
		changed["migrations/migrations.sum"] = &fstest.MapFile{Data: []byte("# released\n\n" + sum + "\n")}
		return changed
	}
	_, dir := write(t, with(checksum(table)+"  000001_t.up.sql"))
	released, err := readReleased(dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"000001_t.up.sql": checksum(table)}, released)

	for sum, want := range map[string]string{
		checksum([]byte("other")) + "  000001_t.up.sql": "migrations/000001_t.up.sql was released and has changed since",
		checksum(table) + "  000009_gone.up.sql":        "migrations/000009_gone.up.sql was released, so it must stay",
		"garbage":                                       "line 3: want",
	} {
		_, err := readReleased(with(sum))
		require.ErrorContains(t, err, want)
	}

	root, dir := write(t, files)
	require.NoError(t, run(t.Context(), dir, keeper{root: root}, false))
	up, err := fs.ReadFile(dir, "migrations/000004_functions.up.sql")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "migrations", "migrations.sum"),
		[]byte(checksum(up)+"  000004_functions.up.sql\n"), 0o600))
	require.NoError(t, run(t.Context(), dir, keeper{root: root}, false))
	require.NoError(t, os.WriteFile(filepath.Join(root, "sql", "checkpoints", "zz_default.sql"),
		[]byte(function("zz_default", "plpgsql", "begin null; end")), 0o600))
	require.ErrorContains(t, run(t.Context(), dir, keeper{root: root}, false), "the change needs a migration of its own")
	after, err := fs.ReadFile(dir, "migrations/000004_functions.up.sql")
	require.NoError(t, err)
	require.Equal(t, string(up), string(after))
}

func TestFreezingListsMigrationsAndUpgradeDataAndKeepsWhatIsListed(t *testing.T) {
	t.Parallel()
	files := tree(nil)
	files["migrations/testdata/upgrade/000001_t.sql"] = &fstest.MapFile{Data: []byte("insert")}
	root, dir := write(t, files)
	require.ErrorContains(t, freeze(dir, keeper{root: root, check: true}), "migrations/migrations.sum")
	require.NoError(t, freeze(dir, keeper{root: root}))
	require.NoError(t, freeze(dir, keeper{root: root, check: true}))
	released, err := readReleased(dir)
	require.NoError(t, err)
	require.Equal(t, checksum([]byte("insert")), released["testdata/upgrade/000001_t.sql"])
	require.Equal(t, checksum(files["migrations/000001_t.up.sql"].Data), released["000001_t.up.sql"])

	require.NoError(t, os.WriteFile(filepath.Join(root, "migrations/testdata/upgrade/000001_t.sql"), []byte("update"), 0o600))
	_, err = readReleased(dir)
	require.ErrorContains(t, err, "migrations/testdata/upgrade/000001_t.sql was released and has changed since")
}

func TestTheSourcesOfThisModuleKeepTheRules(t *testing.T) {
	t.Parallel()
	root := os.DirFS(filepath.Join("..", ".."))
	up, down, err := functions(root)
	require.NoError(t, err)
	embedded, err := sources.Objects()
	require.NoError(t, err)
	require.Len(t, created(t, up), len(embedded))
	require.Equal(t, len(embedded), strings.Count(down, "if exists"))
}
