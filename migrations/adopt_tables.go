package migrations

import "fmt"

// langgraphTable is a table of LangGraph's savers or store, and how it differs from ours.
type langgraphTable struct {
	name string
	part adoptedPart
	// columns that differ from ours or that we add, in the order of our table. Those that are the same are in required.
	columns  []adoptedColumn
	required map[string]string // LangGraph's own columns and their types, since its first version
	optional map[string]string // those that later versions of it added
	// dropped are indexes of LangGraph's that ours make superfluous.
	dropped []string
	// fill are updates that come before a column is made not null.
	fill       []string
	fillfactor int
	// data is not set for the tables that only keep LangGraph's versions.
	data bool
	// follows is the table in whose place among the migrations this one is adopted.
	follows string
	// indexes and containment are how many indexes are built, those that are GIN apart.
	indexes, containment int
}

// adoptedPart is what the tables of one library are for.
type adoptedPart string

const (
	partCheckpoints adoptedPart = "checkpoints"
	partStore       adoptedPart = "store"
	partVectors     adoptedPart = "vectors"
)

// adoptedColumn is a column as it has to be.
type adoptedColumn struct {
	name, kind string
	collateC   bool
	nullable   bool
	// fallback is the default, for what is there already and for what is inserted.
	fallback string
	// past is, for a column that we add, what it is in the rows there are; fallback when empty. Every row is written anew.
	past string
	// ours is set for columns that LangGraph's tables never have.
	ours bool
}

const text, timestamp = "text", "timestamp with time zone"

func identifier(name string) adoptedColumn {
	return adoptedColumn{name: name, kind: text, collateC: true}
}

func moment(name, past string) adoptedColumn {
	return adoptedColumn{name: name, kind: timestamp, fallback: "now()", past: past, ours: true}
}

// timeOfCheckpoint reads the moment that a checkpoint notes of itself, which is text that anybody may have written.
const timeOfCheckpoint = `case
      when checkpoint ->> 'ts' ~ ('^(\d{4}-((0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)'
        || '|\d\d([02468][048]|[13579][26])-02-29)'
        || '[T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)?$')
      then (checkpoint ->> 'ts')::timestamp with time zone
      else now()
    end`

// langgraphTables in the order in which they are locked and listed.
var langgraphTables = []langgraphTable{
	{name: "checkpoint_migrations", part: partCheckpoints, required: map[string]string{"v": "integer"}},
	{
		name: "checkpoints", part: partCheckpoints, data: true, indexes: 3, containment: 1, fillfactor: 90,
		required: map[string]string{
			"thread_id": text, "checkpoint_ns": text, "checkpoint_id": text, "parent_checkpoint_id": text, "type": text,
			"checkpoint": "jsonb", "metadata": "jsonb",
		},
		columns: []adoptedColumn{
			identifier("thread_id"), identifier("checkpoint_ns"), identifier("checkpoint_id"), identifier("parent_checkpoint_id"),
			moment("created_at", timeOfCheckpoint), moment("updated_at", timeOfCheckpoint),
		},
		dropped: []string{"checkpoints_thread_id_idx"},
	},
	{
		name: "checkpoint_blobs", part: partCheckpoints, data: true, indexes: 1,
		required: map[string]string{
			"thread_id": text, "checkpoint_ns": text, "channel": text, "version": text, "type": text, "blob": "bytea",
		},
		columns: []adoptedColumn{
			identifier("thread_id"), identifier("checkpoint_ns"), identifier("channel"), identifier("version"),
			{name: "blob", kind: "bytea", nullable: true},
			moment("created_at", ""),
		},
		dropped: []string{"checkpoint_blobs_thread_id_idx"},
	},
	{
		name: "checkpoint_writes", part: partCheckpoints, data: true, indexes: 1,
		required: map[string]string{
			"thread_id": text, "checkpoint_ns": text, "checkpoint_id": text, "task_id": text, "idx": "integer",
			"channel": text, "type": text, "blob": "bytea",
		},
		optional: map[string]string{"task_path": text},
		columns: []adoptedColumn{
			identifier("thread_id"), identifier("checkpoint_ns"), identifier("checkpoint_id"), identifier("task_id"),
			identifier("channel"),
			{name: "task_path", kind: text, collateC: true, fallback: "''"},
			moment("created_at", ""),
		},
		dropped: []string{"checkpoint_writes_thread_id_idx"},
	},
	{name: "store_migrations", part: partStore, required: map[string]string{"v": "integer"}},
	{
		name: "store", part: partStore, data: true, indexes: 2,
		required: map[string]string{
			"prefix": text, "key": text, "value": "jsonb", "created_at": timestamp, "updated_at": timestamp,
		},
		optional: map[string]string{"expires_at": timestamp, "ttl_minutes": "integer"},
		columns: []adoptedColumn{
			identifier("prefix"), identifier("key"),
			{name: "created_at", kind: timestamp, fallback: "now()"},
			{name: "updated_at", kind: timestamp, fallback: "now()"},
			{name: "expires_at", kind: timestamp, nullable: true},
			{name: "ttl_minutes", kind: "double precision", nullable: true},
		},
		fill: []string{"update %s set created_at = coalesce(created_at, now()), updated_at = coalesce(updated_at, now())" +
			"\n  where created_at is null or updated_at is null"},
		dropped: []string{"store_prefix_idx", "idx_store_expires_at"},
	},
	{name: "vector_migrations", part: partVectors, required: map[string]string{"v": "integer"}},
	{
		name: "store_vectors", part: partVectors, data: true, indexes: 1, follows: "store",
		required: map[string]string{
			"prefix": text, "key": text, "field_name": text, "embedding": "", "created_at": timestamp, "updated_at": timestamp,
		},
		columns: []adoptedColumn{identifier("prefix"), identifier("key"), identifier("field_name")},
	},
}

// latestOfLangGraph are the newest versions of its migrations that this build has seen.
var latestOfLangGraph = map[adoptedPart]int{partCheckpoints: 9, partStore: 3, partVectors: 2}

// versionTables keep the version of a part.
var versionTables = map[adoptedPart]string{
	partCheckpoints: "checkpoint_migrations", partStore: "store_migrations", partVectors: "vector_migrations",
}

func (c adoptedColumn) spelled() string {
	if c.collateC {
		return c.kind + ` collate "C"`
	}
	return c.kind
}

// definition adds the column. One with a past is filled, and made not null, by actions.
func (c adoptedColumn) definition() string {
	switch {
	case c.past != "" || c.nullable:
		return c.name + " " + c.spelled()
	default:
		return fmt.Sprintf("%s %s not null default %s", c.name, c.spelled(), c.fallback)
	}
}

// actions change the column as it is after definition has added it, where it was missing.
func (c adoptedColumn) actions(found *foundTable) []string {
	had, there := found.columns[c.name]
	if !there && c.past == "" {
		return nil
	}
	var actions []string
	alter := func(format string, arguments ...any) {
		actions = append(actions, "alter column "+c.name+" "+fmt.Sprintf(format, arguments...))
	}
	switch {
	case c.ours:
		if there {
			alter("drop default")
		}
		value := fmt.Sprintf("coalesce(%s, %s)", c.name, c.fallback)
		if c.past != "" {
			value = fmt.Sprintf("coalesce(%s, %s)", c.name, c.past)
		}
		alter("type %s using %s", c.kind, value)
	case c.collateC || had.kind != c.kind:
		alter("type %s", c.spelled())
	}
	if c.fallback != "" {
		alter("set default %s", c.fallback)
	}
	if c.nullable && had.notNull {
		alter("drop not null")
	}
	if c.fallback != "" && !c.nullable {
		alter("set not null")
	}
	return actions
}

// rewrites reports whether actions write every row anew.
func (c adoptedColumn) rewrites(found *foundTable) bool {
	had, there := found.columns[c.name]
	return c.ours && (there || c.past != "") || there && had.kind != c.kind
}
