package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

func TestVerifyFindsWhatWasChangedByHand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		change   string
		kind     migrations.DriftKind
		object   string
		detail   string
		harmless bool
	}{
		{
			name: "a changed function body",
			change: `create or replace function langgraph.checkpoints_touch() returns trigger language plpgsql set search_path = ''
				as 'begin return new; end'`,
			kind: migrations.DriftChanged, object: "function langgraph.checkpoints_touch()", detail: "-  new.updated_at := now();",
		},
		{
			name: "a changed function attribute", change: `alter function langgraph.checkpoints_touch() security definer`,
			kind: migrations.DriftChanged, object: "function langgraph.checkpoints_touch()", detail: "+language plpgsql volatile parallel unsafe security definer cost 100",
		},
		{
			name: "a lost search_path", change: `alter function langgraph.checkpoints_touch() reset search_path`,
			kind: migrations.DriftChanged, object: "function langgraph.checkpoints_touch()", detail: `-set search_path = ""`,
		},
		{
			name: "a dropped index", change: `drop index langgraph.checkpoints_metadata_idx`,
			kind: migrations.DriftMissing, object: "index checkpoints_metadata_idx of table langgraph.checkpoints",
		},
		{
			name: "a changed column default", change: `alter table langgraph.checkpoint_writes alter task_path set default 'x'`,
			kind: migrations.DriftChanged, object: "column task_path of table langgraph.checkpoint_writes", detail: "+text collate \"C\" not null default 'x'::text",
		},
		{
			name: "a changed column type", change: `alter table langgraph.retention_policies alter keep_last type bigint`,
			kind: migrations.DriftChanged, object: "column keep_last of table langgraph.retention_policies", detail: "-integer\n+bigint",
		},
		{
			name: "a dropped column", change: `alter table langgraph.store drop column ttl_minutes`,
			kind: migrations.DriftMissing, object: "column ttl_minutes of table langgraph.store",
		},
		{
			name: "a dropped constraint", change: `alter table langgraph.retention_policies drop constraint retention_policies_check`,
			kind: migrations.DriftMissing, object: "constraint retention_policies_check of table langgraph.retention_policies",
		},
		{
			name: "a disabled trigger", change: `alter table langgraph.checkpoints disable trigger checkpoints_touch`,
			kind: migrations.DriftChanged, object: "trigger checkpoints_touch of table langgraph.checkpoints", detail: "(disabled)",
		},
		{
			name: "a changed storage parameter", change: `alter table langgraph.checkpoints set (fillfactor = 50)`,
			kind: migrations.DriftChanged, object: "storage parameter fillfactor of table langgraph.checkpoints", detail: "-90\n+50",
		},
		{
			name: "a changed comment", change: `comment on table langgraph.checkpoints is 'mine'`,
			kind: migrations.DriftChanged, object: "comment text of table langgraph.checkpoints", detail: "+mine",
		},
		{
			name: "a dropped view", change: `drop view langgraph_analytics.checkpoints cascade`,
			kind: migrations.DriftMissing, object: "view langgraph_analytics.checkpoints",
		},
		{
			name: "a view that lost security_invoker", change: `alter view langgraph_analytics.checkpoints reset (security_invoker)`,
			kind: migrations.DriftChanged, object: "view langgraph_analytics.checkpoints", detail: "-with (security_invoker=true)",
		},
		{
			name: "a right given to everybody", change: `grant execute on function langgraph.checkpoints_touch() to public`,
			kind: migrations.DriftExtra, object: "grant to public of function langgraph.checkpoints_touch()", detail: "Every role may: execute",
		},
		{
			name: "a right taken from the owner", change: `revoke delete on langgraph.store from current_user`,
			kind: migrations.DriftExtra, object: "grant to @owner@ of table langgraph.store", detail: "Rights were taken from the owner",
		},
		{
			name: "an overload of a shipped function", change: `create function langgraph.checkpoints_touch(int) returns int language sql as 'select 1'`,
			kind: migrations.DriftExtra, object: "function langgraph.checkpoints_touch(integer)", detail: "overloads a function of ours",
		},
		{
			name: "an index of the DBA's own", change: `create index mine on langgraph.checkpoints (created_at)`,
			kind: migrations.DriftExtra, object: "index mine of table langgraph.checkpoints", harmless: true,
		},
		{
			name: "a table of the DBA's own", change: `create table langgraph.mine (id int primary key)`,
			kind: migrations.DriftExtra, object: "table langgraph.mine", harmless: true,
		},
		{
			name: "a right given to a role", change: `grant select on langgraph.checkpoints to pg_monitor`,
			kind: migrations.DriftExtra, object: "grant to pg_monitor of table langgraph.checkpoints", detail: "select", harmless: true,
		},
		{
			name: "a tuned storage parameter", change: `alter table langgraph.checkpoints set (autovacuum_vacuum_scale_factor = 0.01)`,
			kind: migrations.DriftExtra, object: "storage parameter autovacuum_vacuum_scale_factor of table langgraph.checkpoints", harmless: true,
		},
		{
			name: "row level security switched on", change: `alter table langgraph.checkpoints enable row level security`,
			kind: migrations.DriftExtra, object: "row level security switch of table langgraph.checkpoints", harmless: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newDatabase(t)
			m := newMigrator(t, c, nil)
			require.NoError(t, m.Up(t.Context()))
			execute(t, c, test.change)
			drifts, err := m.Verify(t.Context())
			require.NoError(t, err)
			require.Len(t, drifts, 1)
			require.Equal(t, test.kind, drifts[0].Kind)
			require.Equal(t, test.object, drifts[0].Object)
			require.Contains(t, drifts[0].Detail, test.detail)
			require.Equal(t, test.harmless, drifts[0].Harmless)
			require.Contains(t, drifts[0].String(), string(test.kind)+" "+test.object)
		})
	}
}

func TestVerifyOfWhatEnableFunctionsMakeFindsNothing(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	execute(t, c, `create table langgraph.store_vectors (prefix text, embedding float4[]); create index on langgraph.store_vectors (prefix)`)
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
	require.Contains(t, dump(t, m), "create table @extschema@.store_vectors (")
}

func TestVerifyLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	const census = `select (select count(*) from pg_namespace) || ' ' || (select count(*) from pg_class) || ' ' || (select count(*) from pg_proc)`
	before, beforeText := value[string](t, c, census), dump(t, m)
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
	require.Equal(t, before, value[string](t, c, census))
	require.Equal(t, beforeText, dump(t, m))
}

func TestVerifyComparesWithTheVersionTheSchemaIsAt(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	_, err := m.Verify(t.Context())
	require.ErrorIs(t, err, migrations.ErrNotMigrated)
	for v := 1; v <= m.Latest(); v++ {
		require.NoError(t, m.Goto(t.Context(), v))
		drifts, err := m.Verify(t.Context())
		require.NoError(t, err)
		require.Empty(t, drifts)
	}
	require.NoError(t, m.Force(t.Context(), m.Latest()-1))
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, drifts, "a forced version that is not true shows")
}

func TestVerifyIgnoresMembersOfExtensions(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, &migrations.Config{Schema: "public"})
	require.NoError(t, m.Up(t.Context()))
	execute(t, c, "create extension pg_trgm schema public")
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
}
