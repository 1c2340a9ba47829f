package migrations_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// Each testdata/upgrade/NNNNNN_name.sql is data as schema version NNNNNN wrote it, beside it NNNNNN_name.json what is read
// from it. A release freezes both (migrations.sum), so that whatever comes after it has to read the same.
const fixtures = "testdata/upgrade"

// reads are what people and programs ask of a schema at the latest version. Bytes depend on how the server compresses, and the
// state with an encrypted value cannot be shown.
var reads = map[string]string{
	"checkpoints": `select to_jsonb(g) from checkpoints c
		cross join get_checkpoint(c.thread_id, c.checkpoint_ns, c.checkpoint_id) g
		order by c.thread_id, c.checkpoint_ns, c.checkpoint_id`,
	"list":    `select to_jsonb(l) from list_checkpoints() l order by l.thread_id, l.checkpoint_ns, l.checkpoint_id`,
	"threads": `select to_jsonb(l) from list_threads() l order by l.thread_id`,
	"trees": `select to_jsonb(l) from (select distinct thread_id from checkpoints) t
		cross join thread_tree(t.thread_id) with ordinality l order by t.thread_id, l.ordinality`,
	"delta channels": `select to_jsonb(h) || jsonb_build_object('at', c.thread_id || '/' || c.checkpoint_id)
		from checkpoints c cross join delta_channel_history(c.thread_id, c.checkpoint_ns, c.checkpoint_id, array['log'])
		with ordinality h order by c.thread_id, c.checkpoint_ns, c.checkpoint_id, h.ordinality`,
	"states": `select jsonb_build_object(c.thread_id || '/' || c.checkpoint_id, @extschema@_analytics.state_snapshot(c.thread_id,
		c.checkpoint_ns, c.checkpoint_id)) from checkpoints c where c.checkpoint_id <> 'c4'
		order by c.thread_id, c.checkpoint_ns, c.checkpoint_id`,
	"waiting":  `select to_jsonb(i) from @extschema@_analytics.interrupts i order by i.thread_id, i.checkpoint_id`,
	"failures": `select to_jsonb(e) from @extschema@_analytics.errors e order by e.thread_id, e.checkpoint_id`,
	"store":    `select to_jsonb(s) from store s order by s.prefix, s.key`,
	"found":    `select to_jsonb(s) from store_search('users', '{"name": {"$eq": "London"}}', p_refresh_ttl => false) s`,
	"spaces":   `select to_jsonb(n) from store_list_namespaces() n`,
	"policies": `select to_jsonb(p) from retention_policies p order by p.name`,
	"ttls":     `select to_jsonb(t) from thread_ttls t order by t.thread_id`,
	"pins":     `select to_jsonb(p) from checkpoint_pins p order by p.thread_id, p.checkpoint_ns, p.checkpoint_id`,
	"sweep":    `select to_jsonb(s) - 'bytes' from sweep_preview() s order by s.thread_id`,
	"damage":   `select to_jsonb(f) from fsck() f`,
}

// fixture is data of one schema version.
type fixture struct {
	name    string
	version int
}

func fixturesOf(t *testing.T) []fixture {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtures, "*.sql"))
	require.NoError(t, err)
	var found []fixture
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		require.NoError(t, err, path)
		found = append(found, fixture{name: name, version: version})
	}
	return found
}

// load makes a schema of the fixture's version, with its data.
func (f fixture) load(t *testing.T, c *pgx.ConnConfig, m *migrations.Migrator, schema string) {
	t.Helper()
	require.NoError(t, m.Goto(t.Context(), f.version))
	text, err := os.ReadFile(filepath.Join(fixtures, f.name+".sql"))
	require.NoError(t, err)
	rendered, err := migrations.Render(string(text), schema)
	require.NoError(t, err)
	execute(t, c, rendered)
}

// requireReads compares what is read with what was recorded when the fixture was made. PGWEFT_RECORD_UPGRADE=1 records what is
// not there yet; a release freezes it.
func (f fixture) requireReads(t *testing.T, c *pgx.ConnConfig, schema string) {
	t.Helper()
	found := map[string][]any{}
	for name, sql := range reads {
		found[name] = readAll(t, c, schema, sql)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(found))
	path := filepath.Join(fixtures, f.name+".json")
	recorded, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("PGWEFT_RECORD_UPGRADE") != "" {
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
		return
	}
	require.NoError(t, err, "PGWEFT_RECORD_UPGRADE=1 records it")
	require.Equal(t, string(recorded), text.String())
}

func readAll(t *testing.T, c *pgx.ConnConfig, schema, sql string) []any {
	t.Helper()
	conn := connect(t, c)
	_, err := conn.Exec(t.Context(), "set timezone to 'UTC'; set search_path to "+pgx.Identifier{schema}.Sanitize())
	require.NoError(t, err)
	sql, err = migrations.Render(sql, schema)
	require.NoError(t, err)
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err, sql)
	read, err := pgx.CollectRows(rows, pgx.RowTo[any])
	require.NoError(t, err, sql)
	return append([]any{}, read...)
}

func TestWhatEachVersionSavedReadsTheSameAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	found := fixturesOf(t)
	require.GreaterOrEqual(t, len(found), 2)
	for _, schema := range []string{migrations.DefaultSchema, oddSchema} {
		for _, f := range found {
			t.Run(f.name+" in "+schema, func(t *testing.T) {
				t.Parallel()
				c := newDatabase(t)
				m := newMigrator(t, c, &migrations.Config{Schema: schema})
				f.load(t, c, m, schema)
				require.NoError(t, m.Up(t.Context()))
				f.requireReads(t, c, schema)
				drifts, err := m.Verify(t.Context())
				require.NoError(t, err)
				require.Empty(t, drifts)
			})
		}
	}
}

func TestTheVersionThatWillBeReleasedHasDataToUpgrade(t *testing.T) {
	t.Parallel()
	latest := newMigrator(t, newDatabase(t), nil).Latest()
	versions := map[int]bool{}
	for _, f := range fixturesOf(t) {
		versions[f.version] = true
	}
	require.True(t, versions[latest], "write %s/%06d_name.sql: data by the functions of version %[2]d", fixtures, latest)
}

// nextRelease is a migration as one of the next release may be: columns with defaults that no older client names, an index, a
// function with another body, a new one.
var nextRelease = map[string]string{
	"up": `
		alter table @extschema@.checkpoints add column origin text not null default 'unknown';
		alter table @extschema@.checkpoint_writes add column attempt integer not null default 1;
		alter table @extschema@.checkpoint_blobs add column checksum text;
		create index checkpoints_origin_idx on @extschema@.checkpoints (origin);
		create or replace function @extschema@.next_channel_version_v2(p_version text) returns text language sql stable
		as $fn$ select @extschema@.next_channel_version(p_version) $fn$;`,
	"down": `
		drop function @extschema@.next_channel_version_v2(text);
		alter table @extschema@.checkpoint_blobs drop column checksum;
		alter table @extschema@.checkpoint_writes drop column attempt;
		alter table @extschema@.checkpoints drop column origin;`,
}

func withMigration(t *testing.T, version int, scripts map[string]string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	paths, err := fs.Glob(migrations.Files, "*.sql")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := fs.ReadFile(migrations.Files, path)
		require.NoError(t, err)
		files[path] = &fstest.MapFile{Data: text}
	}
	for direction, script := range scripts {
		files[strings.Join([]string{pad(version) + "_next", direction, "sql"}, ".")] = &fstest.MapFile{Data: []byte(script)}
	}
	return files
}

func pad(version int) string {
	number := strconv.Itoa(version)
	return strings.Repeat("0", 6-len(number)) + number
}

func TestAReleaseThatAddsColumnsLeavesWhatWasSavedAsItWasUpAndDown(t *testing.T) {
	t.Parallel()
	latest := newMigrator(t, newDatabase(t), nil).Latest()
	next := withMigration(t, latest+1, nextRelease)
	for _, f := range fixturesOf(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := newDatabase(t)
			m := newMigrator(t, c, &migrations.Config{Files: next})
			f.load(t, c, m, migrations.DefaultSchema)
			require.NoError(t, m.Up(t.Context()))
			require.Equal(t, latest+1, version(t, m))
			added := map[string][]any{
				"checkpoints": {"origin"}, "checkpoint_writes": {"attempt"}, "checkpoint_blobs": {"checksum"},
			}
			for _, table := range slices.Sorted(maps.Keys(added)) {
				require.Equal(t, added[table], readAll(t, c, migrations.DefaultSchema,
					"select attname::text from pg_attribute where attrelid = '"+table+"'::regclass and attnum > 0 order by attnum desc limit 1"))
			}
			f.requireReads(t, c, migrations.DefaultSchema)
			require.NoError(t, m.Down(t.Context(), 1))
			f.requireReads(t, c, migrations.DefaultSchema)
		})
	}
}

var minimumClient = regexp.MustCompile(`(?m)^    (\d+),$`)

func TestTheSchemaServesTheClientThatShipsWithItAndSaysSince(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	oldest := value[int](t, c, "select minimum_client from langgraph.schema_info()")
	require.LessOrEqual(t, oldest, m.Latest())
	require.Positive(t, oldest)
	text, err := os.ReadFile("../sql/admin/schema_info.sql")
	require.NoError(t, err)
	require.Equal(t, []string{"    " + strconv.Itoa(oldest) + ",", strconv.Itoa(oldest)}, minimumClient.FindStringSubmatch(string(text)),
		"the release check reads it there")
}
