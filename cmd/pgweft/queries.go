package main

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// queries are the statements of this command, most of them one function call. Parameters are cast, because without prepared
// statements Postgres could not tell their types.
type queries struct {
	schemaInfo, rejectMissing                           string
	threads, namespaces, tree                           string
	checkpoint, values, writes, delta, decode           string
	diff, fsck, doctor                                  string
	prune, deleteForRuns, sweep, sweepPreview, sweepRow string
	policies, ttls, pins                                string
	setPolicy, dropPolicy, setTTL, pin, unpin           string
}

const removedColumns = `thread_id, checkpoints, checkpoint_blobs, checkpoint_writes, bytes, kept`

func newQueries(schema string) *queries {
	in := func(sql string) string {
		return strings.ReplaceAll(sql, "@schema@", pgx.Identifier{schema}.Sanitize())
	}
	return &queries{
		schemaInfo:    in(`select schema_version, minimum_client, dirty from @schema@.schema_info()`),
		rejectMissing: in(`select @schema@.reject_missing_checkpoint($1::text, $2::text, $3::text)`),

		threads: in(`select thread_id, status, namespaces, checkpoints, first_activity, last_activity, newest_checkpoint_id, metadata
			from @schema@.list_threads($1::jsonb, $2::timestamptz, $3::bigint)`),
		namespaces: in(`select c.checkpoint_ns, count(*) as checkpoints
			from @schema@.checkpoints c
			where c.thread_id = $1::text
			group by c.checkpoint_ns
			order by c.checkpoint_ns`),
		tree: in(`select $2::text as checkpoint_ns, t.ordinal, t.depth, t.checkpoint_id, t.parent_checkpoint_id, t.child_count,
				t.branch, t.is_head, t.is_latest, t.source, t.step, t.created_at, t.drawing, t.problem,
				w.writes, w.interrupts, w.errors,
				exists (
					select
					from @schema@.checkpoint_pins p
					where p.thread_id = $1::text and p.checkpoint_ns = $2::text and p.checkpoint_id = t.checkpoint_id
				) as pinned
			from @schema@.thread_tree($1::text, $2::text) t
			cross join lateral (
				select count(*) filter (where w.idx >= 0) as writes,
					count(*) filter (where w.channel = '__interrupt__') as interrupts,
					count(*) filter (where w.channel = '__error__') as errors
				from @schema@.checkpoint_writes w
				where w.thread_id = $1::text and w.checkpoint_ns = $2::text and w.checkpoint_id = t.checkpoint_id
			) w
			order by t.ordinal`),

		checkpoint: in(`select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, created_at, metadata, checkpoint
			from @schema@.list_checkpoints($1::text, $2::text, null, null, 1, false, $3::text)`),
		values: in(`select v.channel, $3::jsonb -> 'channel_versions' -> v.channel as version, ` +
			storedColumns(`v.type`, `v.blob`, `v.inline_value`, `$4`) + `
			from @schema@.checkpoint_values($1::text, $2::text, $3::jsonb) v
			order by v.channel`),
		writes: in(`select w.task_id, w.task_path, w.idx, w.channel, ` + storedColumns(`w.type`, `w.blob`, `null::jsonb`, `$4`) + `
			from @schema@.pending_writes($1::text, $2::text, $3::text) with ordinality
				as w (task_id, task_path, idx, channel, type, blob, position)
			order by w.position`),
		delta: in(`select h.channel, h.kind, h.checkpoint_id, h.task_id, h.task_path, h.idx, ` +
			storedColumns(`h.type`, `h.blob`, `h.value`, `$4`) + `
			from @schema@.delta_channel_history($1::text, $2::text, $3::text, array(
				select d.channel
				from @schema@.delta_channels($1::text, $2::text) d (channel)
				where d.channel <> all ($5::text[])
				order by d.channel
			)) with ordinality
				as h (channel, kind, checkpoint_id, task_id, task_path, idx, type, blob, value, position)
			order by h.channel, h.position`),
		decode: in(`select @schema@.value_to_jsonb($1::text, $2::bytea)`),

		diff: in(`select channel, change, a_version, b_version, a_bytes, b_bytes, a_value, b_value
			from @schema@.diff_checkpoints($1::text, $2::text, $3::text, $4::text)`),
		fsck: in(`select problem, thread_id, checkpoint_ns, checkpoint_id, channel, detail, remedy
			from @schema@.fsck($1::text, $2::boolean)`),
		doctor: in(`select level, topic, subject, detail, remedy from @schema@.doctor()`),

		prune: in(`select ` + removedColumns + `
			from @schema@.prune($1::text[], $2::text, $3::integer, $4::boolean, $5::boolean)`),
		deleteForRuns: in(`select ` + removedColumns + ` from @schema@.delete_for_runs($1::text[], $2::boolean)`),
		sweep:         in(`call @schema@.sweep($1::integer, $2::interval)`),
		sweepPreview:  in(`select ` + removedColumns + ` from @schema@.sweep_preview()`),
		// The row of this sweep rather than of an earlier one.
		sweepRow: in(`select s.value from @schema@.settings s
			where s.key = 'sweep' and (s.value ->> 'started_at')::timestamptz >= $1::timestamptz`),

		policies: in(`select name, thread_pattern, metadata_filter, idle_ttl::text, max_age::text, keep_last, enabled, created_at
			from @schema@.retention_policies
			order by name`),
		ttls: in(`select thread_id, idle_ttl::text, created_at from @schema@.thread_ttls order by thread_id`),
		pins: in(`select thread_id, checkpoint_ns, checkpoint_id, reason, pinned_by, created_at
			from @schema@.checkpoint_pins
			order by thread_id, checkpoint_ns, checkpoint_id`),
		setPolicy: in(`select @schema@.set_retention_policy($1::text, $2::text, $3::jsonb, $4::interval, $5::interval, $6::integer,
			$7::boolean)`),
		dropPolicy: in(`select @schema@.drop_retention_policy($1::text)`),
		setTTL:     in(`select @schema@.set_thread_ttl($1::text, $2::interval)`),
		pin:        in(`select @schema@.pin_checkpoint($1::text, $2::text, $3::text, $4::text)`),
		unpin:      in(`select @schema@.unpin_checkpoint($1::text, $2::text, $3::text)`),
	}
}

// storedColumns are the columns of [stored]: a value decoded, or where the parameter says not to decode, its bytes.
func storedColumns(typ, blob, inline, decode string) string {
	return strings.NewReplacer("@type", typ, "@blob", blob, "@inline", inline, "@decode", decode+"::boolean").Replace(
		`@type as type, length(@blob) as bytes,
			case when @inline is not null then @inline
				when @blob is not null and @decode then @schema@.value_to_jsonb(@type, @blob) end as value,
			case when not @decode then @blob end as blob`)
}
