package pgsaver_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/pgsaver"
)

// upgradeSchema is beside the one that every database of these tests has.
const upgradeSchema = "upgrade"

var upgradeConfig = &pgsaver.Config{Schema: upgradeSchema}

func releaseFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	paths, err := fs.Glob(migrations.Files, "*.sql")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := fs.ReadFile(migrations.Files, path)
		require.NoError(t, err)
		files[path] = &fstest.MapFile{Data: text}
	}
	return files
}

func migratorOf(t *testing.T, pool *pgxpool.Pool, files fs.FS) *migrations.Migrator {
	t.Helper()
	migrator, err := migrations.New(pool.Config().ConnConfig, &migrations.Config{Files: files, Schema: upgradeSchema})
	require.NoError(t, err)
	return migrator
}

// schemaInfo is the function schema_info of the migrations, which says that it serves clients from another version on.
func schemaInfo(t *testing.T, files fstest.MapFS, minimumClient string) string {
	t.Helper()
	const begin = "-- sql/admin/schema_info.sql\n"
	_, text, found := strings.Cut(string(files["000004_functions.up.sql"].Data), begin)
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n-- sql/")
	const now = "\n    4,\n"
	require.Contains(t, text, now)
	return strings.Replace(text, now, "\n    "+minimumClient+",\n", 1)
}

// newerRelease adds what a release may add, in a migration of its own, and serves clients from a version on.
func newerRelease(t *testing.T, minimumClient string) fstest.MapFS {
	t.Helper()
	files := releaseFiles(t)
	files["000005_next.up.sql"] = &fstest.MapFile{Data: []byte(`
		alter table @extschema@.checkpoints add column origin text not null default 'unknown';
		alter table @extschema@.checkpoint_writes add column attempt integer not null default 1;
		alter table @extschema@.checkpoint_blobs add column checksum text;
		` + schemaInfo(t, files, minimumClient))}
	files["000005_next.down.sql"] = &fstest.MapFile{Data: []byte(`
		alter table @extschema@.checkpoint_blobs drop column checksum;
		alter table @extschema@.checkpoint_writes drop column attempt;
		alter table @extschema@.checkpoints drop column origin;`)}
	return files
}

// olderRelease is a release whose newest migration had the number before ours: the functions came with the policies.
func olderRelease(t *testing.T) fstest.MapFS {
	t.Helper()
	files := releaseFiles(t)
	join := func(first, second, name string) {
		files[name] = &fstest.MapFile{Data: append(append(files[first].Data, '\n'), files[second].Data...)}
	}
	join("000003_policy_tables.up.sql", "000004_functions.up.sql", "000003_policy_tables.up.sql")
	join("000004_functions.down.sql", "000003_policy_tables.down.sql", "000003_policy_tables.down.sql")
	delete(files, "000004_functions.up.sql")
	delete(files, "000004_functions.down.sql")
	return files
}

func TestAnOldClientWorksOnANewSchemaThatStillServesIt(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	require.NoError(t, migratorOf(t, pool, nil).Up(t.Context()))
	running := pgsaver.New(pool, upgradeConfig)
	before := put(t, running, checkpoint.Config{ThreadID: "upgraded"}, step(map[string]any{"c": []any{"before"}}))

	newer := migratorOf(t, pool, newerRelease(t, "4"))
	require.NoError(t, newer.Up(t.Context()))
	require.Equal(t, pgsaver.SchemaVersion+1, newer.Latest())
	require.Equal(t, pgsaver.SchemaVersion+1, count(t, pool, "select schema_version from upgrade.schema_info()"))
	for name, saver := range map[string]*pgsaver.Saver{
		"one that was running": running, "one that starts": pgsaver.New(pool, upgradeConfig),
	} {
		tuple, err := saver.Get(t.Context(), before)
		require.NoError(t, err, name)
		require.Equal(t, []any{"before"}, tuple.Checkpoint.ChannelValues["c"], name)
		after := put(t, saver, before, step(map[string]any{"c": []any{name}}))
		tuple, err = saver.Get(t.Context(), after)
		require.NoError(t, err, name)
		require.Equal(t, []any{name}, tuple.Checkpoint.ChannelValues["c"])
		require.Equal(t, &before, tuple.Parent)
	}
	checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return pgsaver.New(pool, upgradeConfig) })
}

func TestAnOldClientIsRefusedByANewSchemaThatDoesNotServeIt(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	require.NoError(t, migratorOf(t, pool, newerRelease(t, "5")).Up(t.Context()))
	saver := pgsaver.New(pool, upgradeConfig)
	_, err := saver.Put(t.Context(), checkpoint.Config{ThreadID: "t"}, step(nil), nil, nil)
	require.ErrorIs(t, err, pgsaver.ErrSchemaNewer)
	require.ErrorContains(t, err, `schema "upgrade" is at version 5 and serves clients from version 5 on, and this one is 4; `+
		`upgrade github.com/pgweft/pgweft`)
	require.Zero(t, count(t, pool, "select count(*)::int from upgrade.checkpoints"))

	err = migratorOf(t, pool, nil).Up(t.Context())
	require.ErrorIs(t, err, migrations.ErrNewerSchema, "nor does the old migrator touch it")
}

func TestANewClientIsRefusedByAnOldSchemaUntilThatIsUpgraded(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	older := migratorOf(t, pool, olderRelease(t))
	require.NoError(t, older.Up(t.Context()))
	require.Equal(t, pgsaver.SchemaVersion-1, older.Latest())
	exec(t, pool, `select upgrade.put_checkpoint('t', '', 'c1', null,
		'{"v": 4, "id": "c1", "ts": "2026-01-05T09:00:00+00:00", "channel_values": {"turn": 1},
			"channel_versions": {"turn": "1.1", "log": "1.1"}, "versions_seen": {}}',
		'{"source": "input", "step": -1}', array['log'], array['1.1'], array['msgpack'], array['\x91a568656c6c6f'::bytea])`)

	saver := pgsaver.New(pool, upgradeConfig)
	_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
	require.ErrorIs(t, err, pgsaver.ErrSchemaOutdated)
	require.EqualError(t, err, `pgsaver: schema is outdated: schema "upgrade" is at version 3, and this client needs 4; `+
		`run "migrate up --schema upgrade"`)
	_, err = saver.Put(t.Context(), checkpoint.Config{ThreadID: "t"}, step(nil), nil, nil)
	require.ErrorIs(t, err, pgsaver.ErrSchemaOutdated)
	require.ErrorIs(t, saver.Sweep(t.Context(), pgsaver.SweepOptions{}), pgsaver.ErrSchemaOutdated)

	require.NoError(t, migratorOf(t, pool, nil).Up(t.Context()))
	tuple, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
	require.NoError(t, err, "the same Saver, without a restart")
	require.Equal(t, map[string]any{"turn": int64(1), "log": []any{"hello"}}, tuple.Checkpoint.ChannelValues)
	put(t, saver, tuple.Config, step(map[string]any{"log": []any{"again"}}))
}
