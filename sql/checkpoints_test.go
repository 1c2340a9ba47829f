package sql_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

const (
	putCheckpointSQL = `select langgraph.put_checkpoint(@thread, @ns, @id, @parent, @checkpoint, @metadata,
		@channels, @versions, @types, @blobs)`
	// putOneMoreSQL gives a value by itself besides those of the arrays.
	putOneMoreSQL = `select langgraph.put_checkpoint(@thread, @ns, @id, @parent, @checkpoint, @metadata,
		@channels, @versions, @types, @blobs, @channel, @version, @type, @blob)`
	putWritesSQL = `select langgraph.put_writes(@thread, @ns, @id, @task, @path, @idxs, @channels, @types, @blobs)`
	putStepSQL   = `select langgraph.put_step(@thread, @ns, @id, @parent, @checkpoint, @metadata, @channels, @versions, @types,
		@blobs, @writeTasks, @writePaths, @writeChannels, @writeTypes, @writeBlobs)`
)

// checkpointArgs are the arguments of a checkpoint c1 of thread t without values, with some replaced. Its JSON follows its id.
func checkpointArgs(replaced ...pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{
		"thread": "t", "ns": "", "id": "c1", "parent": nil, "metadata": `{"source": "loop", "step": 1}`,
		"channels": []string{}, "versions": []string{}, "types": []string{}, "blobs": [][]byte{},
	}
	for _, r := range replaced {
		maps.Copy(args, r)
	}
	if _, given := args["checkpoint"]; !given {
		args["checkpoint"] = fmt.Sprintf(`{"v": 4, "id": "%v"}`, args["id"])
	}
	return args
}

// stateArgs are the arguments of a checkpoint with channels: each at a version, with bytes as msgpack.
func stateArgs(id string, channels ...[3]string) pgx.NamedArgs {
	names, versions, types, pairs := []string{}, []string{}, []string{}, []string{}
	blobs := [][]byte{}
	for _, c := range channels {
		names, versions, types = append(names, c[0]), append(versions, c[1]), append(types, "msgpack")
		blobs = append(blobs, []byte(c[2]))
		pairs = append(pairs, fmt.Sprintf("%q: %q", c[0], c[1]))
	}
	return pgx.NamedArgs{
		"id": id, "channels": names, "versions": versions, "types": types, "blobs": blobs,
		"checkpoint": fmt.Sprintf(`{"v": 4, "id": %q, "channel_versions": {%s}}`, id, strings.Join(pairs, ", ")),
	}
}

func put(t *testing.T, db querier, args ...pgx.NamedArgs) {
	t.Helper()
	exec(t, db, putCheckpointSQL, checkpointArgs(args...))
}

// writesArgs are the arguments of one task's writes to c1 of thread t, one to each channel, with some replaced. The n-th
// write's bytes are "n".
func writesArgs(channels []string, replaced ...pgx.NamedArgs) pgx.NamedArgs {
	types, blobs := make([]string, len(channels)), make([][]byte, len(channels))
	for i := range channels {
		types[i], blobs[i] = "msgpack", fmt.Append(nil, i)
	}
	args := pgx.NamedArgs{
		"thread": "t", "ns": "", "id": "c1", "task": "task", "path": "", "idxs": nil,
		"channels": channels, "types": types, "blobs": blobs,
	}
	for _, r := range replaced {
		maps.Copy(args, r)
	}
	return args
}

// storedWrites are the writes of a thread: "checkpoint task path idx channel type bytes".
func storedWrites(t *testing.T, db querier, thread string) []string {
	t.Helper()
	return column[string](t, db, `
		select concat_ws(' ', checkpoint_id, task_id, nullif(task_path, ''), idx, channel, type, encode(blob, 'escape'))
		from langgraph.checkpoint_writes where thread_id = $1 order by checkpoint_ns, checkpoint_id, task_id, idx`, thread)
}

// storedBlobs are the values of a thread: "channel version type bytes".
func storedBlobs(t *testing.T, db querier, thread string) []string {
	t.Helper()
	return column[string](t, db, `
		select concat_ws(' ', channel, version, type, coalesce(encode(blob, 'escape'), 'NULL'))
		from langgraph.checkpoint_blobs where thread_id = $1 order by checkpoint_ns, channel, version`, thread)
}

// tuple is a row of get_checkpoint and list_checkpoints.
type tuple struct {
	ThreadID, CheckpointNS, CheckpointID string
	ParentCheckpointID                   *string
	Checkpoint, Metadata                 map[string]any
	CreatedAt                            time.Time
	ValueChannels, ValueTypes            []string
	ValueBlobs                           [][]byte
	WriteTaskIDs, WriteTaskPaths         []string
	WriteIdxs                            []int32
	WriteChannels, WriteTypes            []string
	WriteBlobs                           [][]byte
	SendTypes                            []string
	SendBlobs                            [][]byte
}

// values are the stored values of a tuple, as "type bytes".
func (c tuple) values() map[string]string {
	values := map[string]string{}
	for i, channel := range c.ValueChannels {
		values[channel] = c.ValueTypes[i] + " " + string(c.ValueBlobs[i])
	}
	return values
}

// writes are the pending writes of a tuple, as "task path idx channel type bytes".
func (c tuple) writes() []string {
	var writes []string
	for i := range c.WriteChannels {
		writes = append(writes, fmt.Sprintf("%s %s %d %s %s %s", c.WriteTaskIDs[i], c.WriteTaskPaths[i], c.WriteIdxs[i],
			c.WriteChannels[i], c.WriteTypes[i], c.WriteBlobs[i]))
	}
	return writes
}

// get is the row of get_checkpoint, or nil.
func get(t *testing.T, db querier, args ...any) *tuple {
	t.Helper()
	rows := table[tuple](t, db, "select * from langgraph.get_checkpoint("+placeholders(len(args))+")", args...)
	require.LessOrEqual(t, len(rows), 1)
	if len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

func placeholders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", $%d", i+1)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

func TestPutCheckpointSavesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	started := value[time.Time](t, db, "select now()")
	put(t, db, pgx.NamedArgs{
		"ns": "sub:1", "id": "c2", "parent": "c1",
		"checkpoint": `{"v": 4, "id": "c2", "channel_values": {"n": 1, "s": "织"}, "channel_versions": {"m": "2"}}`,
		"metadata":   `{"source": "input", "step": -1, "of ours": [null]}`,
		"channels":   []string{"m", "gone", "nil"}, "versions": []string{"2", "1", "1"},
		"types": []string{"msgpack", "empty", "null"}, "blobs": [][]byte{{0x91, 1}, nil, {}},
	})
	type row struct {
		ThreadID, CheckpointNS, CheckpointID string
		ParentCheckpointID, Type             *string
		Checkpoint, Metadata                 map[string]any
		CreatedAt, UpdatedAt                 time.Time
	}
	rows := table[row](t, db, "select * from langgraph.checkpoints")
	require.Len(t, rows, 1)
	parent := "c1"
	require.Equal(t, row{
		ThreadID: "t", CheckpointNS: "sub:1", CheckpointID: "c2", ParentCheckpointID: &parent,
		Checkpoint: map[string]any{
			"v": 4.0, "id": "c2", "channel_values": map[string]any{"n": 1.0, "s": "织"}, "channel_versions": map[string]any{"m": "2"},
		},
		Metadata:  map[string]any{"source": "input", "step": -1.0, "of ours": []any{nil}},
		CreatedAt: rows[0].CreatedAt, UpdatedAt: rows[0].CreatedAt,
	}, rows[0])
	require.False(t, rows[0].CreatedAt.Before(started))
	require.Equal(t, []string{"gone 1 empty NULL", "m 2 msgpack \\221\x01", "nil 1 null "}, storedBlobs(t, db, "t"))
	require.Equal(t, []string{"sub:1"}, column[string](t, db, "select distinct checkpoint_ns from langgraph.checkpoint_blobs"))
}

func TestPutCheckpointAgain(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	type times struct{ Created, Updated time.Time }
	stored := func(id string) times {
		return table[times](t, db, "select created_at as created, updated_at as updated from langgraph.checkpoints where checkpoint_id = $1", id)[0]
	}

	t.Run("with the same arguments changes nothing but updated_at", func(t *testing.T) {
		args := stateArgs("same", [3]string{"a", "1", "x"}, [3]string{"b", "1", "y"})
		put(t, db, args)
		before, first := get(t, db, "t", "", "same"), stored("same")
		blobs := storedBlobs(t, db, "t")
		put(t, db, args)
		require.Equal(t, before, get(t, db, "t", "", "same"))
		require.Equal(t, blobs, storedBlobs(t, db, "t"))
		require.Equal(t, first.Created, stored("same").Created)
		require.True(t, stored("same").Updated.After(first.Updated))
	})
	t.Run("takes the new checkpoint and metadata, and keeps the parent", func(t *testing.T) {
		put(t, db, pgx.NamedArgs{"id": "other", "parent": "p1"})
		first := stored("other")
		put(t, db, pgx.NamedArgs{"id": "other", "parent": "p2", "metadata": `{"step": 7}`, "checkpoint": `{"id": "other", "v": 5}`})
		got := get(t, db, "t", "", "other")
		require.Equal(t, "p1", *got.ParentCheckpointID)
		require.Equal(t, map[string]any{"step": 7.0}, got.Metadata)
		require.Equal(t, map[string]any{"id": "other", "v": 5.0}, got.Checkpoint)
		require.Equal(t, first.Created, got.CreatedAt)
		require.True(t, stored("other").Updated.After(first.Updated))
	})
	t.Run("with a value that is stored and one that is new", func(t *testing.T) {
		put(t, db, stateArgs("one", [3]string{"v", "1", "x"}))
		put(t, db, stateArgs("two", [3]string{"v", "1", "x"}, [3]string{"w", "1", "y"}))
		require.Equal(t, map[string]string{"v": "msgpack x", "w": "msgpack y"}, get(t, db, "t", "", "two").values())
	})
	t.Run("with the same value twice in one call", func(t *testing.T) {
		put(t, db, stateArgs("twice", [3]string{"z", "1", "x"}, [3]string{"z", "1", "x"}))
		require.Equal(t, map[string]string{"z": "msgpack x"}, get(t, db, "t", "", "twice").values())
	})
}

func TestPutCheckpointRefusesAnotherValueUnderAVersion(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, pgx.NamedArgs{"id": "c1"}, stateArgs("c1", [3]string{"a", "1", "x"}))
	put(t, db, pgx.NamedArgs{
		"id": "c2", "channels": []string{"enc", "none", "nothing"}, "versions": []string{"1", "1", "1"},
		"types": []string{"msgpack+aes", "empty", "null"}, "blobs": [][]byte{[]byte("0123"), nil, {}},
	})
	values := func(channel, version, kind string, blob []byte) pgx.NamedArgs {
		return pgx.NamedArgs{
			"id": "c9", "channels": []string{"new", channel}, "versions": []string{"9", version},
			"types": []string{"msgpack", kind}, "blobs": [][]byte{[]byte("new"), blob},
		}
	}
	before := storedBlobs(t, db, "t")
	for name, c := range map[string]struct {
		args    pgx.NamedArgs
		channel string
	}{
		"of other bytes":                          {values("a", "1", "msgpack", []byte("y")), "a"},
		"of other bytes that begin alike":         {values("a", "1", "msgpack", []byte("xx")), "a"},
		"of another type":                         {values("a", "1", "json", []byte("x")), "a"},
		"encrypted, of another length":            {values("enc", "1", "msgpack+aes", []byte("01234")), "enc"},
		"encrypted otherwise":                     {values("enc", "1", "json+aes", []byte("0123")), "enc"},
		"no longer encrypted":                     {values("enc", "1", "msgpack", []byte("0123")), "enc"},
		"encrypted now":                           {values("a", "1", "msgpack+aes", []byte("x")), "a"},
		"where there was none":                    {values("none", "1", "msgpack", []byte("x")), "none"},
		"no more, where there was one":            {values("a", "1", "empty", nil), "a"},
		"empty where there was null":              {values("nothing", "1", "empty", nil), "nothing"},
		"different twice in one call":             {stateArgs("c9", [3]string{"q", "1", "x"}, [3]string{"q", "1", "y"}), "q"},
		"while the checkpoint is one that exists": {stateArgs("c1", [3]string{"a", "1", "y"}), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{
				code: "LG003", message: fmt.Sprintf("channel '%s' already has another value under version '1'", c.channel),
				detail: "Thread 't', namespace ''", hint: "next_channel_version",
			}, attempt(t.Context(), db, putCheckpointSQL, checkpointArgs(c.args, pgx.NamedArgs{"metadata": `{"of": "the refused"}`})))
			require.Nil(t, get(t, db, "t", "", "c9"), "the checkpoint was not saved")
			require.Equal(t, before, storedBlobs(t, db, "t"), "and none of its values")
			require.NotContains(t, get(t, db, "t", "", "c1").Metadata, "of", "nor was an existing one changed")
		})
	}
	t.Run("but not of other encrypted bytes of the same length", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{
			"thread": "t", "id": "c3", "channels": []string{"enc"}, "versions": []string{"1"}, "types": []string{"msgpack+aes"},
			"blobs": [][]byte{[]byte("9876")},
		})
		require.Contains(t, storedBlobs(t, db, "t"), "enc 1 msgpack+aes 0123", "the stored one stays")
	})
	t.Run("nor in another thread, namespace, channel or version", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "u"}, stateArgs("c1", [3]string{"a", "1", "y"}))
		put(t, db, pgx.NamedArgs{"thread": "v", "ns": "sub"}, stateArgs("c1", [3]string{"a", "1", "y"}))
		put(t, db, pgx.NamedArgs{"thread": "v"}, stateArgs("c1", [3]string{"a", "1", "z"}))
		put(t, db, pgx.NamedArgs{"thread": "u"}, stateArgs("c2", [3]string{"a", "2", "z"}, [3]string{"b", "1", "z"}))
		require.Equal(t, []string{"a 1 msgpack y", "a 2 msgpack z", "b 1 msgpack z"}, storedBlobs(t, db, "u"))
		require.Equal(t, []string{"a 1 msgpack z", "a 1 msgpack y"}, storedBlobs(t, db, "v"))
	})
}

// oneMore is a value by itself: the arguments of putOneMoreSQL that putCheckpointSQL has not.
func oneMore(channel, version, kind, blob any) pgx.NamedArgs {
	return pgx.NamedArgs{"channel": channel, "version": version, "type": kind, "blob": blob}
}

func TestPutCheckpointTakesOneValueByItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values [][3]string
		alone  pgx.NamedArgs
		want   []string
	}{
		"and no other":          {nil, oneMore("a", "1", "msgpack", []byte("x")), []string{"a 1 msgpack x"}},
		"besides others":        {[][3]string{{"b", "1", "y"}, {"c", "2", "z"}}, oneMore("a", "1", "msgpack", []byte("x")), []string{"a 1 msgpack x", "b 1 msgpack y", "c 2 msgpack z"}},
		"or none":               {[][3]string{{"b", "1", "y"}}, oneMore(nil, nil, nil, nil), []string{"b 1 msgpack y"}},
		"that is empty":         {nil, oneMore("a", "1", "null", []byte{}), []string{"a 1 null "}},
		"also among the others": {[][3]string{{"a", "1", "x"}}, oneMore("a", "1", "msgpack", []byte("x")), []string{"a 1 msgpack x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			for range 2 { // the same again is fine
				exec(t, db, putOneMoreSQL, checkpointArgs(stateArgs("c1", c.values...), c.alone))
				require.Equal(t, c.want, storedBlobs(t, db, "t"))
				require.NotNil(t, get(t, db, "t", "", "c1"))
			}
		})
	}
}

func TestPutCheckpointRefusesAnotherValueByItselfUnderAVersion(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, stateArgs("c1", [3]string{"a", "1", "x"}))
	put(t, db, pgx.NamedArgs{"id": "c2", "channels": []string{"enc"}, "versions": []string{"1"}, "types": []string{"msgpack+aes"}, "blobs": [][]byte{[]byte("0123")}})
	before := storedBlobs(t, db, "t")
	for name, c := range map[string]struct {
		others  pgx.NamedArgs
		alone   pgx.NamedArgs
		channel string
	}{
		"that is stored":                    {stateArgs("c9", [3]string{"new", "9", "new"}), oneMore("a", "1", "msgpack", []byte("y")), "a"},
		"of another type":                   {stateArgs("c9", [3]string{"new", "9", "new"}), oneMore("a", "1", "json", []byte("x")), "a"},
		"encrypted, of another length":      {stateArgs("c9", [3]string{"new", "9", "new"}), oneMore("enc", "1", "msgpack+aes", []byte("01234")), "enc"},
		"that is in the arrays":             {stateArgs("c9", [3]string{"q", "1", "x"}), oneMore("q", "1", "msgpack", []byte("y")), "q"},
		"while that of the arrays is meant": {stateArgs("c9", [3]string{"a", "1", "y"}), oneMore("new", "9", "msgpack", []byte("new")), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{
				code: "LG003", message: fmt.Sprintf("channel '%s' already has another value under version '1'", c.channel),
				detail: "Thread 't', namespace ''", hint: "next_channel_version",
			}, attempt(t.Context(), db, putOneMoreSQL, checkpointArgs(c.others, c.alone)))
			require.Nil(t, get(t, db, "t", "", "c9"), "the checkpoint was not saved")
			require.Equal(t, before, storedBlobs(t, db, "t"), "and none of its values")
		})
	}
	t.Run("but not other encrypted bytes of the same length", func(t *testing.T) {
		exec(t, db, putOneMoreSQL, checkpointArgs(stateArgs("c3", [3]string{"a", "1", "x"}), oneMore("enc", "1", "msgpack+aes", []byte("9876"))))
		require.Equal(t, before, storedBlobs(t, db, "t"), "the stored one stays")
	})
}

// Both ways of giving a value wait for a transaction that is about to store another one under its version.
func TestOfTwoValuesUnderAVersionAtOnceOneIsRefused(t *testing.T) {
	t.Parallel()
	first := checkpointArgs(stateArgs("c1", [3]string{"a", "1", "x"}))
	for name, c := range map[string]struct {
		sql  string
		args pgx.NamedArgs
	}{
		"in arrays": {putCheckpointSQL, checkpointArgs(stateArgs("c2", [3]string{"a", "1", "y"}))},
		"by itself": {putOneMoreSQL, checkpointArgs(stateArgs("c2", [3]string{"b", "1", "z"}), oneMore("a", "1", "msgpack", []byte("y")))},
	} {
		for ending, end := range map[string]func(pgx.Tx, context.Context) error{"commits": pgx.Tx.Commit, "rolls back": pgx.Tx.Rollback} {
			t.Run(name+", when the first "+ending, func(t *testing.T) {
				t.Parallel()
				db := newDatabase(t)
				inTx(t, db, func(tx pgx.Tx) {
					exec(t, tx, putCheckpointSQL, first)
					second := startBlocked(t, db, c.sql, c.args)
					require.NoError(t, end(tx, t.Context()))
					if err := <-second; ending == "commits" {
						requireRefused(t, refusal{code: "LG003", message: "channel 'a' already has another value under version '1'"}, err)
						require.Equal(t, []string{"a 1 msgpack x"}, storedBlobs(t, db, "t"))
					} else {
						require.NoError(t, err)
						require.Contains(t, storedBlobs(t, db, "t"), "a 1 msgpack y")
					}
				})
			})
		}
	}
}

func TestPutCheckpointRefusesArguments(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	one := func(replaced pgx.NamedArgs) pgx.NamedArgs {
		return checkpointArgs(stateArgs("c1", [3]string{"a", "1", "x"}), replaced)
	}
	null := []*string{nil}
	for name, c := range map[string]struct {
		args            pgx.NamedArgs
		message, detail string
	}{
		"a null thread":                     {checkpointArgs(pgx.NamedArgs{"thread": nil}), "invalid thread_id", "null or empty"},
		"an empty thread":                   {checkpointArgs(pgx.NamedArgs{"thread": ""}), "invalid thread_id", "null or empty"},
		"a null namespace":                  {checkpointArgs(pgx.NamedArgs{"ns": nil}), "invalid checkpoint_ns", "null"},
		"a null id":                         {checkpointArgs(pgx.NamedArgs{"id": nil}), "invalid checkpoint_id", "null or empty"},
		"an empty id":                       {checkpointArgs(pgx.NamedArgs{"id": ""}), "invalid checkpoint_id", "null or empty"},
		"an empty parent":                   {checkpointArgs(pgx.NamedArgs{"parent": ""}), "invalid parent_checkpoint_id", "empty"},
		"itself as its parent":              {checkpointArgs(pgx.NamedArgs{"parent": "c1"}), "invalid parent_checkpoint_id", "'c1' would be its own parent"},
		"a null checkpoint":                 {checkpointArgs(pgx.NamedArgs{"checkpoint": nil}), "invalid checkpoint", "not a JSON object"},
		"a list as checkpoint":              {checkpointArgs(pgx.NamedArgs{"checkpoint": `[]`}), "invalid checkpoint", "not a JSON object"},
		"JSON null as checkpoint":           {checkpointArgs(pgx.NamedArgs{"checkpoint": `null`}), "invalid checkpoint", "not a JSON object"},
		"text as checkpoint":                {checkpointArgs(pgx.NamedArgs{"checkpoint": `"c1"`}), "invalid checkpoint", "not a JSON object"},
		"the checkpoint of another id":      {checkpointArgs(pgx.NamedArgs{"checkpoint": `{"id": "c2"}`}), "invalid checkpoint", "Its id is 'c2', and checkpoint_id is 'c1'"},
		"null metadata":                     {checkpointArgs(pgx.NamedArgs{"metadata": nil}), "invalid metadata", "not a JSON object"},
		"a list as metadata":                {checkpointArgs(pgx.NamedArgs{"metadata": `[]`}), "invalid metadata", "not a JSON object"},
		"no channels":                       {one(pgx.NamedArgs{"channels": []string{}}), "invalid channel values", "0 channels, 1 versions, 1 types and 1 blobs"},
		"a version too many":                {one(pgx.NamedArgs{"versions": []string{"1", "2"}}), "invalid channel values", "1 channels, 2 versions"},
		"no types":                          {one(pgx.NamedArgs{"types": []string{}}), "invalid channel values", "0 types"},
		"a blob too many":                   {one(pgx.NamedArgs{"blobs": [][]byte{{1}, {2}}}), "invalid channel values", "2 blobs"},
		"null channels":                     {one(pgx.NamedArgs{"channels": nil}), "invalid channel values", "null channels"},
		"null versions":                     {one(pgx.NamedArgs{"versions": nil}), "invalid channel values", "null versions"},
		"null types":                        {one(pgx.NamedArgs{"types": nil}), "invalid channel values", "null types"},
		"null blobs":                        {one(pgx.NamedArgs{"blobs": nil}), "invalid channel values", "null blobs"},
		"nothing but null arrays":           {checkpointArgs(pgx.NamedArgs{"channels": nil, "versions": nil, "types": nil, "blobs": nil}), "invalid channel values", "null channels"},
		"a null channel":                    {one(pgx.NamedArgs{"channels": null}), "invalid channel values", "1 channels"},
		"a null version":                    {one(pgx.NamedArgs{"versions": null}), "invalid channel values", "1 versions"},
		"a null type":                       {one(pgx.NamedArgs{"types": null}), "invalid channel values", "1 types"},
		"a null blob that is not \"empty\"": {one(pgx.NamedArgs{"blobs": [][]byte{nil}}), "invalid channel values", "null"},
		"a null blob of type \"null\"":      {one(pgx.NamedArgs{"types": []string{"null"}, "blobs": [][]byte{nil}}), "invalid channel values", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: c.message, detail: c.detail}, attempt(t.Context(), db, putCheckpointSQL, c.args))
			require.Nil(t, get(t, db, "t"), "and saves nothing")
		})
	}
	for name, c := range map[string]struct {
		alone  pgx.NamedArgs
		detail string
	}{
		"a value by itself of no channel":       {oneMore(nil, "1", "msgpack", []byte("x")), "channel NULL, version '1', type 'msgpack' and a blob of 1 bytes"},
		"a value by itself without a version":   {oneMore("a", nil, "msgpack", []byte("x")), "version NULL"},
		"a value by itself without a type":      {oneMore("a", "1", nil, []byte("x")), "type NULL"},
		"a null value by itself":                {oneMore("a", "1", "empty", nil), "a blob of null bytes"},
		"a blob by itself and nothing about it": {oneMore(nil, nil, nil, []byte("x")), "channel NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid channel values", detail: c.detail},
				attempt(t.Context(), db, putOneMoreSQL, one(c.alone)))
			require.Nil(t, get(t, db, "t"), "and saves nothing")
		})
	}
}

func TestRefusedCheckpointsLeaveNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := checkpointArgs(stateArgs("c1", [3]string{"a", "1", "x"}), pgx.NamedArgs{"metadata": `[]`})
	requireRefused(t, refusal{code: "LG002"}, attempt(t.Context(), db, putCheckpointSQL, args))
	require.Empty(t, storedBlobs(t, db, "t"))
	require.Nil(t, get(t, db, "t"))
}

func TestPutWritesNumbersThem(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for name, c := range map[string]struct {
		channels []string
		replaced pgx.NamedArgs
		want     []string
	}{
		"none":                           {[]string{}, nil, []string{}},
		"one":                            {[]string{"a"}, nil, []string{"c1 task 0 a msgpack 0"}},
		"by position":                    {[]string{"a", "b", "a"}, nil, []string{"c1 task 0 a msgpack 0", "c1 task 1 b msgpack 1", "c1 task 2 a msgpack 2"}},
		"each reserved channel its own":  {[]string{"__error__", "__scheduled__", "__interrupt__", "__resume__"}, nil, []string{"c1 task -4 __resume__ msgpack 3", "c1 task -3 __interrupt__ msgpack 2", "c1 task -2 __scheduled__ msgpack 1", "c1 task -1 __error__ msgpack 0"}},
		"reserved ones among others":     {[]string{"a", "__interrupt__", "b"}, nil, []string{"c1 task -3 __interrupt__ msgpack 1", "c1 task 0 a msgpack 0", "c1 task 2 b msgpack 2"}},
		"only what looks reserved":       {[]string{"__pregel_tasks", "__error", "__no_writes__"}, nil, []string{"c1 task 0 __pregel_tasks msgpack 0", "c1 task 1 __error msgpack 1", "c1 task 2 __no_writes__ msgpack 2"}},
		"a reserved one twice, the last": {[]string{"__resume__", "__error__", "__resume__"}, nil, []string{"c1 task -4 __resume__ msgpack 2", "c1 task -1 __error__ msgpack 1"}},
		"a reserved one twice with others, the first": {
			[]string{"__resume__", "a", "__resume__"}, nil, []string{"c1 task -4 __resume__ msgpack 0", "c1 task 1 a msgpack 1"},
		},
		"as it is told":        {[]string{"a", "b"}, pgx.NamedArgs{"idxs": []int32{7, 3}}, []string{"c1 task 3 b msgpack 1", "c1 task 7 a msgpack 0"}},
		"in place of nothing":  {[]string{"a", "b"}, pgx.NamedArgs{"idxs": []int32{5, 5}}, []string{"c1 task 5 a msgpack 0"}},
		"with their task path": {[]string{"a"}, pgx.NamedArgs{"path": "~__pregel_pull, node"}, []string{"c1 task ~__pregel_pull, node 0 a msgpack 0"}},
		"of a task without id": {[]string{"a"}, pgx.NamedArgs{"task": ""}, []string{"c1  0 a msgpack 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := writesArgs(c.channels, c.replaced, pgx.NamedArgs{"thread": name})
			exec(t, db, putWritesSQL, args)
			require.Equal(t, c.want, storedWrites(t, db, name))
			require.Zero(t, value[int](t, db, "select count(*) from langgraph.checkpoints"), "the checkpoint may come later")
		})
	}
}

func TestPutWritesAgain(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	other := func(channels ...string) pgx.NamedArgs {
		types, blobs := make([]string, len(channels)), make([][]byte, len(channels))
		for i := range channels {
			types[i], blobs[i] = "json", fmt.Append(nil, "again", i)
		}
		return pgx.NamedArgs{"types": types, "blobs": blobs}
	}
	for name, c := range map[string]struct {
		first, again []string
		replaced     pgx.NamedArgs
		want         []string
	}{
		"keeps an ordinary one":    {[]string{"a"}, []string{"a"}, nil, []string{"c1 task 0 a msgpack 0"}},
		"keeps several":            {[]string{"a", "b"}, []string{"b", "a", "c"}, nil, []string{"c1 task 0 a msgpack 0", "c1 task 1 b msgpack 1", "c1 task 2 c json again2"}},
		"replaces a reserved one":  {[]string{"__error__"}, []string{"__error__"}, nil, []string{"c1 task -1 __error__ json again0"}},
		"replaces reserved ones":   {[]string{"__error__", "__resume__"}, []string{"__resume__", "__interrupt__"}, nil, []string{"c1 task -4 __resume__ json again0", "c1 task -3 __interrupt__ json again1", "c1 task -1 __error__ msgpack 0"}},
		"keeps all in a mixed one": {[]string{"a", "__resume__"}, []string{"a", "__resume__", "b"}, nil, []string{"c1 task -4 __resume__ msgpack 1", "c1 task 0 a msgpack 0", "c1 task 2 b json again2"}},
		"keeps the task path of what it replaces": {
			[]string{"__resume__"}, []string{"__resume__"}, pgx.NamedArgs{"path": "p"}, []string{"c1 task -4 __resume__ json again0"},
		},
		"as another task adds":                 {[]string{"a"}, []string{"a"}, pgx.NamedArgs{"task": "task2"}, []string{"c1 task 0 a msgpack 0", "c1 task2 0 a json again0"}},
		"to another checkpoint adds":           {[]string{"a"}, []string{"a"}, pgx.NamedArgs{"id": "c2"}, []string{"c1 task 0 a msgpack 0", "c2 task 0 a json again0"}},
		"in another namespace adds":            {[]string{"a"}, []string{"a"}, pgx.NamedArgs{"ns": "sub"}, []string{"c1 task 0 a msgpack 0", "c1 task 0 a json again0"}},
		"with negative indexes only replaces":  {[]string{"__error__"}, []string{"x"}, pgx.NamedArgs{"idxs": []int32{-1}}, []string{"c1 task -1 x json again0"}},
		"with one index that is not keeps":     {[]string{"__error__"}, []string{"x", "y"}, pgx.NamedArgs{"idxs": []int32{-1, 0}}, []string{"c1 task -1 __error__ msgpack 0", "c1 task 0 y json again1"}},
		"replaces by the last of one reserved": {[]string{"__error__"}, []string{"__error__", "__error__"}, nil, []string{"c1 task -1 __error__ json again1"}},
		"with none keeps":                      {[]string{"a"}, []string{}, nil, []string{"c1 task 0 a msgpack 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exec(t, db, putWritesSQL, writesArgs(c.first, pgx.NamedArgs{"thread": name}))
			exec(t, db, putWritesSQL, writesArgs(c.again, other(c.again...), c.replaced, pgx.NamedArgs{"thread": name}))
			require.Equal(t, c.want, storedWrites(t, db, name))
		})
	}
}

// many are channels a, b, c, ...: so many that put_writes tries them without looking for each.
func many(count int) []string {
	channels := make([]string, count)
	for i := range channels {
		channels[i] = string(rune('a' + i))
	}
	return channels
}

// manyStored is what of many is stored, in the order of storedWrites: of each number the bytes that it begins with.
func manyStored(channels []string, bytes func(i int) string) []string {
	lines := make([]string, len(channels))
	for i, channel := range channels {
		lines[i] = fmt.Sprintf("c1 task %d %s msgpack %s", i, channel, bytes(i))
	}
	slices.Sort(lines)
	return lines
}

func TestPutWritesOfManyAgain(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	first := func(i int) string { return fmt.Sprint(i) }
	again := func(count int) [][]byte {
		blobs := make([][]byte, count)
		for i := range blobs {
			blobs[i] = fmt.Append(nil, "again", i)
		}
		return blobs
	}
	sorted := func(thread string) []string {
		return slices.Sorted(slices.Values(storedWrites(t, db, thread)))
	}
	for _, count := range []int{7, 8, 9, 20} {
		t.Run(fmt.Sprintf("keeps all %d", count), func(t *testing.T) {
			t.Parallel()
			thread := fmt.Sprint("all", count)
			args := writesArgs(many(count), pgx.NamedArgs{"thread": thread})
			exec(t, db, putWritesSQL, args)
			require.Equal(t, manyStored(many(count), first), sorted(thread))
			exec(t, db, putWritesSQL, writesArgs(many(count), pgx.NamedArgs{"thread": thread, "blobs": again(count)}))
			require.Equal(t, manyStored(many(count), first), sorted(thread))
		})
		t.Run(fmt.Sprintf("keeps what there was before %d", count), func(t *testing.T) {
			t.Parallel()
			thread := fmt.Sprint("part", count)
			exec(t, db, putWritesSQL, writesArgs(many(3), pgx.NamedArgs{"thread": thread, "idxs": []int32{1, 4, 6}}))
			exec(t, db, putWritesSQL, writesArgs(many(count), pgx.NamedArgs{"thread": thread, "blobs": again(count)}))
			channels := many(count)
			channels[1], channels[4], channels[6] = "a", "b", "c"
			require.Equal(t, manyStored(channels, func(i int) string {
				if old := slices.Index([]int{1, 4, 6}, i); old >= 0 {
					return fmt.Sprint(old)
				}
				return fmt.Sprint("again", i)
			}), sorted(thread))
		})
	}
	t.Run("keeps the first of one index", func(t *testing.T) {
		t.Parallel()
		channels := append(many(10), "__resume__", "__resume__")
		exec(t, db, putWritesSQL, writesArgs(channels, pgx.NamedArgs{"thread": "twice"}))
		require.Equal(t, slices.Sorted(slices.Values(append(manyStored(many(10), first), "c1 task -4 __resume__ msgpack 10"))), sorted("twice"))
	})
	t.Run("in a transaction that saves more", func(t *testing.T) {
		t.Parallel()
		inTx(t, db, func(tx pgx.Tx) {
			for range 2 {
				exec(t, tx, putWritesSQL, writesArgs(many(20), pgx.NamedArgs{"thread": "tx"}))
			}
			put(t, tx, pgx.NamedArgs{"thread": "tx"})
			require.NoError(t, tx.Commit(t.Context()))
		})
		require.Equal(t, manyStored(many(20), first), sorted("tx"))
		require.NotNil(t, get(t, db, "tx"))
	})
}

// Of two workers that run a task at once the second waits for the first, and adds what that did not write.
func TestPutWritesOfOneTaskAtOnce(t *testing.T) {
	t.Parallel()
	for _, count := range []int{2, 12} {
		for ending, end := range map[string]func(pgx.Tx, context.Context) error{"commits": pgx.Tx.Commit, "rolls back": pgx.Tx.Rollback} {
			t.Run(fmt.Sprintf("%d, and the first %s", count, ending), func(t *testing.T) {
				t.Parallel()
				db := newDatabase(t)
				second := writesArgs(many(count), pgx.NamedArgs{"path": "second"})
				inTx(t, db, func(tx pgx.Tx) {
					exec(t, tx, putWritesSQL, writesArgs(many(count)[:count-1], pgx.NamedArgs{"path": "first"}))
					waiting := startBlocked(t, db, putWritesSQL, second)
					require.NoError(t, end(tx, t.Context()))
					require.NoError(t, <-waiting)
				})
				want := slices.Repeat([]string{"second"}, count)
				if ending == "commits" {
					want = append(slices.Repeat([]string{"first"}, count-1), "second")
				}
				require.Equal(t, want, column[string](t, db, "select task_path from langgraph.checkpoint_writes order by idx"))
			})
		}
	}
}

func TestPutWritesRefusesArguments(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	null := []*string{nil}
	index := []*int32{nil}
	for name, c := range map[string]struct {
		replaced pgx.NamedArgs
		detail   string
	}{
		"a null thread":         {pgx.NamedArgs{"thread": nil}, "thread_id NULL"},
		"an empty thread":       {pgx.NamedArgs{"thread": ""}, "thread_id ''"},
		"a null namespace":      {pgx.NamedArgs{"ns": nil}, "checkpoint_ns NULL"},
		"a null checkpoint":     {pgx.NamedArgs{"id": nil}, "checkpoint_id NULL"},
		"an empty checkpoint":   {pgx.NamedArgs{"id": ""}, "checkpoint_id ''"},
		"a null task":           {pgx.NamedArgs{"task": nil}, "task_id NULL"},
		"a null task path":      {pgx.NamedArgs{"path": nil}, "task_path NULL"},
		"null channels":         {pgx.NamedArgs{"channels": nil}, "null channels, 1 types, 1 blobs and no indexes"},
		"null types":            {pgx.NamedArgs{"types": nil}, "null types"},
		"null blobs":            {pgx.NamedArgs{"blobs": nil}, "null blobs"},
		"a type too many":       {pgx.NamedArgs{"types": []string{"a", "b"}}, "1 channels, 2 types"},
		"no blob":               {pgx.NamedArgs{"blobs": [][]byte{}}, "0 blobs"},
		"a null channel":        {pgx.NamedArgs{"channels": null}, "1 channels"},
		"a null type":           {pgx.NamedArgs{"types": null}, "1 types"},
		"a null blob":           {pgx.NamedArgs{"blobs": [][]byte{nil}}, "1 blobs"},
		"a null index":          {pgx.NamedArgs{"idxs": index}, "1 indexes"},
		"an index too many":     {pgx.NamedArgs{"idxs": []int32{1, 2}}, "2 indexes"},
		"indexes for no writes": {pgx.NamedArgs{"channels": []string{}, "types": []string{}, "blobs": [][]byte{}, "idxs": []int32{1}}, "0 channels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid writes", detail: c.detail},
				attempt(t.Context(), db, putWritesSQL, writesArgs([]string{"a"}, c.replaced)))
			require.Empty(t, storedWrites(t, db, "t"))
		})
	}
}

func TestReservedWriteIndex(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	type index struct {
		Channel *string
		Index   *int32
	}
	n := func(i int32) *int32 { return &i }
	s := func(s string) *string { return &s }
	require.Equal(t, []index{
		{s("__error__"), n(-1)},
		{s("__scheduled__"), n(-2)},
		{s("__interrupt__"), n(-3)},
		{s("__resume__"), n(-4)},
		{s("__Error__"), nil},
		{s(""), nil},
		{nil, nil},
	}, table[index](t, db, `
		select c as channel, langgraph.reserved_write_index(c) as index
		from unnest(array['__error__', '__scheduled__', '__interrupt__', '__resume__', '__Error__', '', null]) c`))
}

// stepArgs are the arguments of a checkpoint with writes "task path channel bytes" of several tasks.
func stepArgs(writes [][4]string, replaced ...pgx.NamedArgs) pgx.NamedArgs {
	columns := [4][]string{{}, {}, {}, {}}
	types, blobs := make([]string, len(writes)), make([][]byte, len(writes))
	for i, w := range writes {
		types[i], blobs[i] = "msgpack", []byte(w[3])
		for k := range columns {
			columns[k] = append(columns[k], w[k])
		}
	}
	args := checkpointArgs(append([]pgx.NamedArgs{stateArgs("c1", [3]string{"a", "1", "x"})}, replaced...)...)
	given := pgx.NamedArgs{
		"writeTasks": columns[0], "writePaths": columns[1], "writeChannels": columns[2], "writeTypes": types, "writeBlobs": blobs,
	}
	for _, r := range replaced {
		maps.Copy(given, r)
	}
	maps.Copy(args, given)
	return args
}

func TestPutStep(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)

	t.Run("saves the checkpoint and the writes of interleaved tasks in their order", func(t *testing.T) {
		t.Parallel()
		exec(t, db, putStepSQL, stepArgs([][4]string{
			{"t2", "p2", "x", "a"},
			{"t1", "p1", "y", "b"},
			{"t2", "p2", "__error__", "c"},
			{"t1", "p1", "x", "d"},
			{"t2", "p2", "x", "e"},
			{"t3", "p0", "__resume__", "f"},
		}, pgx.NamedArgs{"thread": "tasks"}))
		got := get(t, db, "tasks")
		require.Equal(t, "c1", got.CheckpointID)
		require.Equal(t, map[string]string{"a": "msgpack x"}, got.values())
		require.Equal(t, []string{
			"t3 p0 -4 __resume__ msgpack f",
			"t1 p1 0 y msgpack b",
			"t1 p1 1 x msgpack d",
			"t2 p2 -1 __error__ msgpack c",
			"t2 p2 0 x msgpack a",
			"t2 p2 2 x msgpack e",
		}, got.writes())
	})
	t.Run("is the same as put_checkpoint and put_writes", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "apart"}, stateArgs("c1", [3]string{"a", "1", "x"}))
		exec(t, db, putWritesSQL, writesArgs([]string{"x", "__resume__", "y"}, pgx.NamedArgs{"thread": "apart", "path": "p"}))
		exec(t, db, putStepSQL, stepArgs([][4]string{
			{"task", "p", "x", "0"}, {"task", "p", "__resume__", "1"}, {"task", "p", "y", "2"},
		}, pgx.NamedArgs{"thread": "together"}))
		require.Equal(t, storedWrites(t, db, "apart"), storedWrites(t, db, "together"))
		require.Equal(t, storedBlobs(t, db, "apart"), storedBlobs(t, db, "together"))
	})
	t.Run("needs no writes", func(t *testing.T) {
		t.Parallel()
		exec(t, db, putStepSQL, stepArgs(nil, pgx.NamedArgs{"thread": "quiet"}))
		require.Empty(t, get(t, db, "quiet").writes())
	})
	t.Run("replaces only what a task with reserved channels alone writes", func(t *testing.T) {
		t.Parallel()
		first := [][4]string{{"t1", "", "x", "1"}, {"t2", "", "__resume__", "1"}}
		again := [][4]string{{"t1", "", "x", "2"}, {"t2", "", "__resume__", "2"}}
		exec(t, db, putStepSQL, stepArgs(first, pgx.NamedArgs{"thread": "again"}))
		exec(t, db, putStepSQL, stepArgs(again, pgx.NamedArgs{"thread": "again"}))
		require.Equal(t, []string{"c1 t1 0 x msgpack 1", "c1 t2 -4 __resume__ msgpack 2"}, storedWrites(t, db, "again"))
	})
	t.Run("leaves no write when a value collides", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "collision", "id": "c0"}, stateArgs("c0", [3]string{"a", "1", "other"}))
		requireRefused(t, refusal{code: "LG003", message: "'a'"}, attempt(t.Context(), db, putStepSQL,
			stepArgs([][4]string{{"t1", "", "x", "1"}}, pgx.NamedArgs{"thread": "collision"})))
		require.Empty(t, storedWrites(t, db, "collision"))
		require.Nil(t, get(t, db, "collision", "", "c1"))
	})
	t.Run("leaves no checkpoint when a write is refused", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, refusal{code: "LG002", message: "invalid writes"}, attempt(t.Context(), db, putStepSQL,
			stepArgs([][4]string{{"t1", "", "x", "1"}}, pgx.NamedArgs{"thread": "refused", "writeTypes": []*string{nil}})))
		require.Nil(t, get(t, db, "refused"))
		require.Empty(t, storedBlobs(t, db, "refused"))
	})
	null := []*string{nil}
	for name, c := range map[string]struct {
		replaced pgx.NamedArgs
		message  string
	}{
		"no task":                  {pgx.NamedArgs{"writeTasks": []string{}}, "invalid writes"},
		"no path":                  {pgx.NamedArgs{"writePaths": []string{}}, "invalid writes"},
		"a channel too many":       {pgx.NamedArgs{"writeChannels": []string{"a", "b"}}, "invalid writes"},
		"no type":                  {pgx.NamedArgs{"writeTypes": []string{}}, "invalid writes"},
		"a blob too many":          {pgx.NamedArgs{"writeBlobs": [][]byte{{}, {}}}, "invalid writes"},
		"null tasks":               {pgx.NamedArgs{"writeTasks": nil}, "invalid writes"},
		"null paths":               {pgx.NamedArgs{"writePaths": nil}, "invalid writes"},
		"null channels":            {pgx.NamedArgs{"writeChannels": nil}, "invalid writes"},
		"null types":               {pgx.NamedArgs{"writeTypes": nil}, "invalid writes"},
		"null blobs":               {pgx.NamedArgs{"writeBlobs": nil}, "invalid writes"},
		"nothing but null arrays":  {pgx.NamedArgs{"writeTasks": nil, "writePaths": nil, "writeChannels": nil, "writeTypes": nil, "writeBlobs": nil}, "invalid writes"},
		"a null task":              {pgx.NamedArgs{"writeTasks": null}, "invalid writes"},
		"a null path":              {pgx.NamedArgs{"writePaths": null}, "invalid writes"},
		"a null channel":           {pgx.NamedArgs{"writeChannels": null}, "invalid writes"},
		"a null blob":              {pgx.NamedArgs{"writeBlobs": [][]byte{nil}}, "invalid writes"},
		"the metadata of nothing":  {pgx.NamedArgs{"metadata": nil}, "invalid metadata"},
		"values of unequal number": {pgx.NamedArgs{"types": []string{}}, "invalid channel values"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: c.message}, attempt(t.Context(), db, putStepSQL,
				stepArgs([][4]string{{"t1", "", "x", "1"}}, pgx.NamedArgs{"thread": "nothing"}, c.replaced)))
			require.Empty(t, storedWrites(t, db, "nothing"))
			require.Nil(t, get(t, db, "nothing"))
		})
	}
	t.Run("refuses two task paths for one task", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, refusal{code: "LG002", message: "invalid writes", detail: "'t1'", hint: "one task_path"},
			attempt(t.Context(), db, putStepSQL,
				stepArgs([][4]string{{"t1", "p1", "x", "1"}, {"t1", "p2", "x", "1"}}, pgx.NamedArgs{"thread": "paths"})))
		require.Nil(t, get(t, db, "paths"))
	})
}

func TestGetCheckpoint(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, stateArgs("1a", [3]string{"m", "1", "one"}))
	put(t, db, stateArgs("1B", [3]string{"m", "2", "two"}), pgx.NamedArgs{"parent": "1a"})
	put(t, db, stateArgs("0z", [3]string{"m", "3", "three"}), pgx.NamedArgs{"parent": "1B"})
	put(t, db, stateArgs("9", [3]string{"m", "1", "sub"}), pgx.NamedArgs{"ns": "sub"})
	put(t, db, stateArgs("8", [3]string{"m", "1", "u"}), pgx.NamedArgs{"thread": "u"})

	t.Run("gives the newest, by byte order of the id", func(t *testing.T) {
		t.Parallel()
		got := get(t, db, "t")
		require.Equal(t, "1a", got.CheckpointID)
		require.Equal(t, map[string]string{"m": "msgpack one"}, got.values())
		require.Nil(t, got.ParentCheckpointID)
		require.Equal(t, got, get(t, db, "t", "", nil))
	})
	t.Run("gives the named one", func(t *testing.T) {
		t.Parallel()
		got := get(t, db, "t", "", "1B")
		require.Equal(t, "1B", got.CheckpointID)
		require.Equal(t, "1a", *got.ParentCheckpointID)
		require.Equal(t, map[string]string{"m": "msgpack two"}, got.values())
		require.Equal(t, map[string]any{"source": "loop", "step": 1.0}, got.Metadata)
	})
	t.Run("stays in its thread and namespace", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, map[string]string{"m": "msgpack sub"}, get(t, db, "t", "sub").values())
		require.Equal(t, "sub", get(t, db, "t", "sub").CheckpointNS)
		require.Equal(t, "u", get(t, db, "u").ThreadID)
	})
	t.Run("gives no row for what is missing", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]any{{"nobody"}, {"t", "other"}, {"t", "", "1"}, {"t", "", "1b"}, {"t", "", "9"}, {"t", "sub", "1a"}, {"t", "", "\U0010FFFF"}} {
			require.Nil(t, get(t, db, args...), args)
		}
	})
	t.Run("leaves out values of type empty, and versions without a value", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{
			"thread": "empty", "channels": []string{"a", "b", "c"}, "versions": []string{"1", "1", "1"},
			"types": []string{"empty", "null", "bytes"}, "blobs": [][]byte{nil, {}, []byte("x")},
			"checkpoint": `{"id": "c1", "channel_values": {"n": 1}, "channel_versions": {"a": "1", "b": "1", "n": "1", "lost": "1"}}`,
		})
		got := get(t, db, "empty")
		require.Equal(t, map[string]string{"b": "null "}, got.values(), "c has a value, but this checkpoint does not name it")
		require.Equal(t, map[string]any{"n": 1.0}, got.Checkpoint["channel_values"], "inline values stay where they are")
	})
	t.Run("finds values whose versions are numbers", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{
			"thread": "numbers", "channels": []string{"a", "b"}, "versions": []string{"3", "1.5"}, "types": []string{"json", "json"},
			"blobs": [][]byte{[]byte("1"), []byte("2")}, "checkpoint": `{"id": "c1", "channel_versions": {"a": 3, "b": 1.5}}`,
		})
		require.Equal(t, map[string]string{"a": "json 1", "b": "json 2"}, get(t, db, "numbers").values())
		require.Equal(t, map[string]any{"a": 3.0, "b": 1.5}, get(t, db, "numbers").Checkpoint["channel_versions"])
	})
	t.Run("gives nulls where there is nothing", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "bare"})
		got := get(t, db, "bare")
		require.Nil(t, got.ValueChannels)
		require.Nil(t, got.ValueTypes)
		require.Nil(t, got.ValueBlobs)
		require.Nil(t, got.WriteTaskIDs)
		require.Nil(t, got.WriteBlobs)
		require.Nil(t, got.SendTypes)
		require.Nil(t, got.SendBlobs)
	})
	t.Run("orders pending writes by task path, task and index", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "writes"})
		for _, task := range []pgx.NamedArgs{
			{"task": "b", "path": "2"},
			{"task": "c", "path": "1"},
			{"task": "a", "path": "2"},
			{"task": "z", "path": ""},
			{"task": "B", "path": "2"},
			{"task": "a", "path": "2", "id": "c2"},
			{"task": "a", "path": "2", "ns": "sub"},
		} {
			exec(t, db, putWritesSQL, writesArgs([]string{"x", "__interrupt__", "y"}, pgx.NamedArgs{"thread": "writes"}, task))
		}
		var want []string
		for _, task := range []string{"z ", "c 1", "B 2", "a 2", "b 2"} {
			want = append(want, task+" -3 __interrupt__ msgpack 1", task+" 0 x msgpack 0", task+" 2 y msgpack 2")
		}
		require.Equal(t, want, get(t, db, "writes", "", "c1").writes())
	})
	for name, args := range map[string][]any{
		"a null thread":    {nil},
		"an empty thread":  {""},
		"a null namespace": {"t", nil},
		"an empty id":      {"t", "", ""},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid checkpoint to read", detail: "thread_id", hint: "thread_id is needed"},
				attempt(t.Context(), db, "select * from langgraph.get_checkpoint("+placeholders(len(args))+")", args...))
		})
	}
}

func TestPendingSendsAreForCheckpointsBeforeFormat4(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, version := range []string{"1", "2", "3", "4", "5", ""} {
		t.Run("v"+version, func(t *testing.T) {
			t.Parallel()
			thread := "v" + version
			v := ""
			if version != "" {
				v = `"v": ` + version + `, `
			}
			put(t, db, pgx.NamedArgs{"thread": thread, "id": "c1"})
			put(t, db, pgx.NamedArgs{"thread": thread, "id": "c2", "parent": "c1", "checkpoint": `{` + v + `"id": "c2"}`})
			put(t, db, pgx.NamedArgs{"thread": thread, "id": "c3", "checkpoint": `{` + v + `"id": "c3"}`})
			for _, task := range []pgx.NamedArgs{{"task": "b", "path": "2"}, {"task": "c", "path": "1"}, {"task": "a", "path": "2"}} {
				exec(t, db, putWritesSQL, writesArgs([]string{"__pregel_tasks", "x", "__pregel_tasks"}, pgx.NamedArgs{
					"thread": thread, "types": []string{"json", "json", "msgpack"},
					"blobs": [][]byte{fmt.Append(nil, task["task"], 0), {}, fmt.Append(nil, task["task"], 2)},
				}, task))
			}
			child := get(t, db, thread, "", "c2")
			require.Empty(t, get(t, db, thread, "", "c1").SendBlobs, "they are the parent's own writes still")
			require.Empty(t, get(t, db, thread, "", "c3").SendBlobs, "and nothing to one without a parent")
			if version == "" || version >= "4" {
				require.Nil(t, child.SendTypes)
				require.Nil(t, child.SendBlobs)
				return
			}
			require.Equal(t, []string{"json", "msgpack", "json", "msgpack", "json", "msgpack"}, child.SendTypes)
			require.Equal(t, "c0 c2 a0 a2 b0 b2", strings.Join(texts(child.SendBlobs), " "))
			require.Empty(t, child.writes())
		})
	}
}

func texts(blobs [][]byte) []string {
	texts := make([]string, len(blobs))
	for i, b := range blobs {
		texts[i] = string(b)
	}
	return texts
}

const listSQL = `select * from langgraph.list_checkpoints(p_thread_id => @thread, p_checkpoint_ns => @ns, p_filter => @filter,
	p_before => @before, p_limit => @limit, p_with_state => @state, p_checkpoint_id => @id)`

func listArgs(replaced ...pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"thread": nil, "ns": nil, "filter": nil, "before": nil, "limit": nil, "state": true, "id": nil}
	for _, r := range replaced {
		maps.Copy(args, r)
	}
	return args
}

func TestListCheckpoints(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, c := range []struct{ thread, ns, id, metadata string }{
		{"t", "", "c1", `{"source": "input", "step": -1, "tags": ["a", "b"]}`},
		{"t", "", "c2", `{"source": "loop", "step": 0, "nested": {"a": 1, "b": 2}}`},
		{"t", "", "c4", `{"source": "loop", "step": 1, "null": null}`},
		{"t", "sub:1", "c3", `{"source": "loop", "step": 0}`},
		{"t", "sub:1", "c4", `{"source": "fork"}`},
		{"t", "sub:2", "c5", `{"source": "input"}`},
		{"u", "", "c6", `{"source": "loop", "step": 1}`},
		{"u", "sub:1", "c0", `{"source": "loop", "step": 0}`},
	} {
		put(t, db, stateArgs(c.id, [3]string{"m", c.id, c.ns + c.id}), pgx.NamedArgs{"thread": c.thread, "ns": c.ns, "metadata": c.metadata})
		exec(t, db, putWritesSQL, writesArgs([]string{"w"}, pgx.NamedArgs{"thread": c.thread, "ns": c.ns, "id": c.id}))
	}
	for name, c := range map[string]struct {
		args pgx.NamedArgs
		want string
	}{
		"everything":                  {nil, "u//c6 t/sub:2/c5 t//c4 t/sub:1/c4 t/sub:1/c3 t//c2 t//c1 u/sub:1/c0"},
		"a thread":                    {pgx.NamedArgs{"thread": "t"}, "t/sub:2/c5 t//c4 t/sub:1/c4 t/sub:1/c3 t//c2 t//c1"},
		"another thread":              {pgx.NamedArgs{"thread": "u"}, "u//c6 u/sub:1/c0"},
		"no such thread":              {pgx.NamedArgs{"thread": "v"}, ""},
		"the root graph of a thread":  {pgx.NamedArgs{"thread": "t", "ns": ""}, "t//c4 t//c2 t//c1"},
		"a subgraph of a thread":      {pgx.NamedArgs{"thread": "t", "ns": "sub:1"}, "t/sub:1/c4 t/sub:1/c3"},
		"no such namespace":           {pgx.NamedArgs{"thread": "t", "ns": "sub"}, ""},
		"a namespace of all threads":  {pgx.NamedArgs{"ns": "sub:1"}, "t/sub:1/c4 t/sub:1/c3 u/sub:1/c0"},
		"the root graphs":             {pgx.NamedArgs{"ns": ""}, "u//c6 t//c4 t//c2 t//c1"},
		"by metadata":                 {pgx.NamedArgs{"filter": `{"source": "loop"}`, "thread": "t"}, "t//c4 t/sub:1/c3 t//c2"},
		"by metadata of all threads":  {pgx.NamedArgs{"filter": `{"step": 0}`}, "t/sub:1/c3 t//c2 u/sub:1/c0"},
		"by two keys":                 {pgx.NamedArgs{"filter": `{"step": 1, "source": "loop"}`}, "u//c6 t//c4"},
		"by a part of an object":      {pgx.NamedArgs{"filter": `{"nested": {"a": 1}}`}, "t//c2"},
		"by an element":               {pgx.NamedArgs{"filter": `{"tags": ["b"]}`}, "t//c1"},
		"by null":                     {pgx.NamedArgs{"filter": `{"null": null}`}, "t//c4"},
		"by an object that differs":   {pgx.NamedArgs{"filter": `{"nested": {"a": 2}}`}, ""},
		"by text where a number is":   {pgx.NamedArgs{"filter": `{"step": "0"}`}, ""},
		"by an empty filter":          {pgx.NamedArgs{"filter": `{}`, "ns": ""}, "u//c6 t//c4 t//c2 t//c1"},
		"before one":                  {pgx.NamedArgs{"before": "c3"}, "t//c2 t//c1 u/sub:1/c0"},
		"before one of a thread":      {pgx.NamedArgs{"before": "c4", "thread": "t"}, "t/sub:1/c3 t//c2 t//c1"},
		"before one of a namespace":   {pgx.NamedArgs{"before": "c4", "thread": "t", "ns": ""}, "t//c2 t//c1"},
		"before an id that is not":    {pgx.NamedArgs{"before": "c25", "thread": "t", "ns": ""}, "t//c2 t//c1"},
		"before all":                  {pgx.NamedArgs{"before": "a"}, ""},
		"none":                        {pgx.NamedArgs{"limit": 0}, ""},
		"none of a thread":            {pgx.NamedArgs{"limit": 0, "thread": "t"}, ""},
		"one":                         {pgx.NamedArgs{"limit": 1}, "u//c6"},
		"one of a thread":             {pgx.NamedArgs{"limit": 1, "thread": "t"}, "t/sub:2/c5"},
		"two of a namespace":          {pgx.NamedArgs{"limit": 2, "thread": "t", "ns": ""}, "t//c4 t//c2"},
		"three of a thread":           {pgx.NamedArgs{"limit": 3, "thread": "t"}, "t/sub:2/c5 t//c4 t/sub:1/c4"},
		"more than there are":         {pgx.NamedArgs{"limit": int64(1) << 62, "thread": "u"}, "u//c6 u/sub:1/c0"},
		"one after the filter":        {pgx.NamedArgs{"limit": 1, "thread": "t", "filter": `{"step": 0}`}, "t/sub:1/c3"},
		"one after the filter of all": {pgx.NamedArgs{"limit": 1, "filter": `{"source": "input"}`}, "t/sub:2/c5"},
		"filter, before and limit":    {pgx.NamedArgs{"limit": 2, "before": "c6", "filter": `{"source": "loop"}`}, "t//c4 t/sub:1/c3"},
		"an id":                       {pgx.NamedArgs{"id": "c4"}, "t//c4 t/sub:1/c4"},
		"an id of a thread":           {pgx.NamedArgs{"id": "c4", "thread": "t"}, "t//c4 t/sub:1/c4"},
		"an id of a namespace":        {pgx.NamedArgs{"id": "c4", "thread": "t", "ns": "sub:1"}, "t/sub:1/c4"},
		"an id that the filter drops": {pgx.NamedArgs{"id": "c4", "thread": "t", "filter": `{"source": "input"}`}, ""},
		"an id before itself":         {pgx.NamedArgs{"id": "c4", "before": "c4"}, ""},
		"an id before another":        {pgx.NamedArgs{"id": "c4", "before": "c5", "limit": 5}, "t//c4 t/sub:1/c4"},
		"an id that is not":           {pgx.NamedArgs{"id": "c"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := table[tuple](t, db, listSQL, listArgs(c.args))
			if c.args["thread"] == nil {
				// Which of several with one id comes first is said only within a thread.
				byID := func(a, b tuple) int { return cmp.Compare(b.CheckpointID, a.CheckpointID) }
				require.True(t, slices.IsSortedFunc(rows, byID))
				slices.SortFunc(rows, func(a, b tuple) int { return cmp.Or(byID(a, b), cmp.Compare(a.CheckpointNS, b.CheckpointNS)) })
			}
			names := []string{}
			for _, r := range rows {
				names = append(names, r.ThreadID+"/"+r.CheckpointNS+"/"+r.CheckpointID)
			}
			require.Equal(t, strings.Fields(c.want), names)
			for _, r := range rows {
				require.Equal(t, *get(t, db, r.ThreadID, r.CheckpointNS, r.CheckpointID), r)
				require.Equal(t, map[string]string{"m": "msgpack " + r.CheckpointNS + r.CheckpointID}, r.values())
				require.Equal(t, []string{"task  0 w msgpack 0"}, r.writes())
			}
			bare := table[tuple](t, db, listSQL, listArgs(c.args, pgx.NamedArgs{"state": false}))
			require.Len(t, bare, len(rows))
			for i := range bare {
				require.Nil(t, bare[i].ValueChannels)
				require.Nil(t, bare[i].ValueBlobs)
				require.Nil(t, bare[i].WriteTaskIDs)
				require.Nil(t, bare[i].WriteBlobs)
				require.Nil(t, bare[i].SendBlobs)
				require.NotEmpty(t, bare[i].Checkpoint)
				require.NotEmpty(t, bare[i].Metadata)
			}
		})
	}
}

func TestListCheckpointsOfOneIDInManyNamespacesAreInTheOrderOfThese(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `
		insert into langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint)
		select 't', 'sub:' || to_char(n, 'FM000'), 'c' || n % 3, '{}' from generate_series(1, 90) n`)
	var want []string
	for _, id := range []int{2, 1, 0} {
		for n := 1; n <= 90; n++ {
			if n%3 == id {
				want = append(want, fmt.Sprintf("sub:%03d/c%d", n, id))
			}
		}
	}
	for _, limit := range []int{1, 7, 29, 30, 31, 89, 90} {
		require.Equal(t, want[:limit], column[string](t, db, `
			select checkpoint_ns || '/' || checkpoint_id from langgraph.list_checkpoints('t', p_limit => $1)`, limit))
	}
}

func TestListCheckpointsRefusesArguments(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db)
	for name, c := range map[string]struct {
		args   pgx.NamedArgs
		detail string
	}{
		"an empty thread":      {pgx.NamedArgs{"thread": ""}, "thread_id ''"},
		"an empty id":          {pgx.NamedArgs{"id": ""}, "checkpoint_id ''"},
		"an empty before":      {pgx.NamedArgs{"before": ""}, "before ''"},
		"a negative limit":     {pgx.NamedArgs{"limit": -1}, "limit '-1'"},
		"a list as filter":     {pgx.NamedArgs{"filter": `["a"]`}, `filter '["a"]'`},
		"JSON null as filter":  {pgx.NamedArgs{"filter": `null`}, "filter 'null'"},
		"a number as a filter": {pgx.NamedArgs{"filter": `1`, "thread": "t"}, "filter '1'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid list of checkpoints", detail: c.detail, hint: "null"},
				attempt(t.Context(), db, listSQL, listArgs(c.args)))
		})
	}
}

// The rule of list_checkpoints in one plain query, state included.
const naiveListSQL = `
	select to_jsonb(g)::text
	from (
		select *
		from langgraph.checkpoints c
		where (@thread::text is null or c.thread_id = @thread)
			and (@ns::text is null or c.checkpoint_ns = @ns)
			and (@filter::jsonb is null or c.metadata @> @filter::jsonb)
			and (@before::text is null or c.checkpoint_id < @before)
			and (@id::text is null or c.checkpoint_id = @id)
		order by c.checkpoint_id desc, c.checkpoint_ns
		limit @limit::bigint
	) c
	cross join lateral langgraph.get_checkpoint(c.thread_id, c.checkpoint_ns, c.checkpoint_id) g
	order by c.checkpoint_id desc, c.checkpoint_ns`

func TestListCheckpointsIsThePlainQueryOnRandomData(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	fillRandomly(t, db, random)
	ids := column[string](t, db, "select checkpoint_id from langgraph.checkpoints order by checkpoint_id")
	anything := func(values ...any) any { return pick(random, append(values, nil, nil)...) }
	listed := 0
	for range 400 {
		args := listArgs(pgx.NamedArgs{
			"thread": anything("t0", "t1", "t2", "nobody"),
			"ns":     anything("", "sub:1", "sub:2", "nowhere"),
			"filter": anything(`{}`, `{"source": "loop"}`, `{"step": 1}`, `{"step": 2, "source": "fork"}`, `{"nested": {"a": 1}}`, `{"absent": 1}`),
			"before": anything(pick(random, ids...), ids[0], ids[len(ids)-1], "~"),
			"limit":  anything(0, 1, 2, 7, 1000),
			"id":     pick[any](random, nil, nil, nil, nil, pick(random, ids...)),
		})
		rows := column[string](t, db, "select to_jsonb(l)::text from ("+listSQL+") l", args)
		require.Equal(t, column[string](t, db, naiveListSQL, args), rows, "%v", args)
		listed += len(rows)
	}
	require.Greater(t, listed, 500)
}

// fillRandomly makes checkpoints whose ids are unique, in three threads and three namespaces.
func fillRandomly(t *testing.T, db *pgxpool.Pool, random *rand.Rand) {
	t.Helper()
	batch := &pgx.Batch{}
	for i := range 150 {
		id := fmt.Sprintf("%04d-%s", random.IntN(100), hex.EncodeToString(fmt.Append(nil, i)))
		where := pgx.NamedArgs{"thread": pick(random, "t0", "t1", "t2"), "ns": pick(random, "", "sub:1", "sub:2")}
		metadata := fmt.Sprintf(`{"source": %q, "step": %d, "nested": {"a": %d, "b": []}}`,
			pick(random, "input", "loop", "fork"), random.IntN(4), random.IntN(3))
		batch.Queue(putCheckpointSQL, checkpointArgs(stateArgs(id, [3]string{"m", id, id}), where, pgx.NamedArgs{"metadata": metadata}))
		if random.IntN(2) == 0 {
			batch.Queue(putWritesSQL, writesArgs([]string{"x", "__resume__"}, where, pgx.NamedArgs{"id": id}))
		}
	}
	require.NoError(t, db.SendBatch(t.Context(), batch).Close())
}

func TestDeleteThread(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	type removed struct{ Checkpoints, CheckpointBlobs, CheckpointWrites int }
	remove := func(thread string) removed {
		rows := table[removed](t, db, "select * from langgraph.delete_thread($1)", thread)
		require.Len(t, rows, 1)
		return rows[0]
	}
	fill := func(thread string) {
		for i, ns := range []string{"", "sub", "sub|sub"} {
			id := fmt.Sprintf("c%d", i)
			put(t, db, stateArgs(id, [3]string{"a", "1", "x"}, [3]string{"b", "1", "y"}), pgx.NamedArgs{"thread": thread, "ns": ns})
			exec(t, db, putWritesSQL, writesArgs([]string{"x", "y", "z"}, pgx.NamedArgs{"thread": thread, "ns": ns}))
		}
		exec(t, db, "insert into langgraph.thread_ttls (thread_id, idle_ttl) values ($1, '1 day')", thread)
	}
	content := func(thread string) []int {
		return column[int](t, db, `
			select count(*)::int from langgraph.checkpoints where thread_id = $1
			union all select count(*)::int from langgraph.checkpoint_blobs where thread_id = $1
			union all select count(*)::int from langgraph.checkpoint_writes where thread_id = $1
			union all select count(*)::int from langgraph.thread_ttls where thread_id = $1`, thread)
	}
	full, empty := []int{3, 6, 9, 1}, []int{0, 0, 0, 0}

	t.Run("removes every namespace and says how much", func(t *testing.T) {
		fill("t")
		fill("t2")
		require.Equal(t, full, content("t"))
		require.Equal(t, removed{3, 6, 9}, remove("t"))
		require.Equal(t, empty, content("t"))
		require.Equal(t, full, content("t2"), "another thread stays")
	})
	t.Run("removes nothing of a thread that is gone", func(t *testing.T) {
		require.Equal(t, removed{}, remove("t"))
		require.Equal(t, removed{}, remove("nobody"))
	})
	t.Run("removes writes whose checkpoint never came", func(t *testing.T) {
		exec(t, db, putWritesSQL, writesArgs([]string{"x"}, pgx.NamedArgs{"thread": "orphan"}))
		require.Equal(t, removed{CheckpointWrites: 1}, remove("orphan"))
	})
	t.Run("refuses a thread with a pinned checkpoint", func(t *testing.T) {
		fill("pinned")
		exec(t, db, `insert into langgraph.checkpoint_pins (thread_id, checkpoint_ns, checkpoint_id)
			values ('pinned', 'sub', 'c1'), ('pinned', '', 'c0')`)
		requireRefused(t, refusal{code: "LG005", message: "thread 'pinned' is pinned", detail: "2 of its checkpoints", hint: "Remove the pins"},
			attempt(t.Context(), db, "select * from langgraph.delete_thread('pinned')"))
		require.Equal(t, full, content("pinned"))
		exec(t, db, "delete from langgraph.checkpoint_pins where thread_id = 'pinned'")
		require.Equal(t, removed{3, 6, 9}, remove("pinned"))
	})
	t.Run("refuses no thread", func(t *testing.T) {
		for _, thread := range []any{nil, ""} {
			requireRefused(t, refusal{code: "LG002", message: "invalid thread_id", detail: "null or empty"},
				attempt(t.Context(), db, "select * from langgraph.delete_thread($1)", thread))
		}
	})
}

func TestNewCheckpointID(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	type made struct {
		ID            string
		Step          int
		Before, After time.Time
	}
	rows := table[made](t, db, `
		select before, langgraph.new_checkpoint_id(step) as id, step, clock_timestamp() as after
		from (select step, clock_timestamp() as before
			from unnest(array[-2, -1, 0, 1, 2, 16382, 16383, 16384, 2147483647, -2147483648]) step offset 0) s`)
	require.Len(t, rows, 10)
	for _, r := range rows {
		id, err := uuid.Parse(r.ID)
		require.NoError(t, err)
		require.Equal(t, r.ID, id.String(), "lower case, with dashes")
		require.Equal(t, uuid.Version(6), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.Equal(t, r.Step&0x3fff, id.ClockSequence())
		at := timeOf(id)
		require.False(t, at.Before(r.Before), "%s is older than the call at %s", at, r.Before)
		require.False(t, at.After(r.After), "%s is newer than the return at %s", at, r.After)
	}
	require.Equal(t, 0x3ffe, uuid.MustParse(value[string](t, db, "select langgraph.new_checkpoint_id()")).ClockSequence(), "-2 without a step")
	require.Equal(t, 0x3ffe, uuid.MustParse(value[string](t, db, "select langgraph.new_checkpoint_id(null)")).ClockSequence())
}

func TestNewCheckpointIDSortsAboveAnother(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	above := func(t *testing.T, id any) string {
		t.Helper()
		return value[string](t, db, "select langgraph.new_checkpoint_id(5, $1)", id)
	}
	const ahead = "ff000000-ffff-6fff-bfff-ffffffffffff"
	t.Run("of a clock ahead", func(t *testing.T) {
		t.Parallel()
		got := above(t, ahead)
		require.Regexp(t, "^ff000001-0000-6000-8005-", got, "by one tick")
		require.Greater(t, above(t, got), got)
	})
	for name, id := range map[string]any{
		"of the past":        "1ec00000-0000-6000-8000-000000000000",
		"that does not sort": "ff000000-ffff-4fff-bfff-ffffffffffff",
		"that is no UUID":    "zzz",
		"that is null":       nil,
	} {
		t.Run("but takes the time of now above one "+name, func(t *testing.T) {
			t.Parallel()
			before := value[time.Time](t, db, "select clock_timestamp()")
			at := timeOf(uuid.MustParse(above(t, id)))
			require.False(t, at.Before(before))
			require.False(t, at.After(value[time.Time](t, db, "select clock_timestamp()")))
		})
	}
}

// timeOf is the time in a UUID of version 6: 48 bits, the version, 12 bits. (uuid.UUID.Time takes the version for time.)
func timeOf(id uuid.UUID) time.Time {
	high := binary.BigEndian.Uint64(id[:8]) >> 16
	low := binary.BigEndian.Uint64(id[:8]) & 0xfff
	return time.Unix(uuid.Time(high<<12 | low).UnixTime())
}

func TestNewCheckpointIDsRise(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for name, sql := range map[string]string{
		"in one statement":     "select langgraph.new_checkpoint_id(0) from generate_series(1, 1000)",
		"with changing steps":  "select langgraph.new_checkpoint_id(-n) from generate_series(1, 1000) n",
		"without steps at all": "select langgraph.new_checkpoint_id() from generate_series(1, 1000)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids := column[string](t, db, sql)
			require.Len(t, ids, 1000)
			for i := range ids[1:] {
				require.Less(t, ids[i], ids[i+1])
				require.True(t, timeOf(uuid.MustParse(ids[i])).Before(timeOf(uuid.MustParse(ids[i+1]))), "by time, not by chance")
			}
		})
	}
	t.Run("over many statements of one session", func(t *testing.T) {
		t.Parallel()
		inTx(t, db, func(tx pgx.Tx) {
			last := ""
			for range 200 {
				id := value[string](t, tx, "select langgraph.new_checkpoint_id(1)")
				require.Less(t, last, id)
				last = id
			}
		})
	})
}

func TestNextChannelVersion(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	next := func(t *testing.T, current any) string {
		t.Helper()
		return value[string](t, db, "select langgraph.next_channel_version($1)", current)
	}
	for current, want := range map[string]string{
		"0": "1", "1": "2", "9": "10", "41": "42", "9007199254740992": "9007199254740993",
		"18446744073709551615": "18446744073709551616", "007": "8",
	} {
		t.Run("stays an integer after "+current, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, next(t, current))
		})
	}
	for name, c := range map[string]struct{ current, counter any }{
		"null":                          {nil, 1},
		"a first version":               {fmt.Sprintf("%032d.0.5", 1), 2},
		"a version without a fraction":  {fmt.Sprintf("%032d.", 9), 10},
		"the end of a digit":            {fmt.Sprintf("%032d.0.9999999999999999", 999), 1000},
		"a fraction with an exponent":   {fmt.Sprintf("%032d.0000000000001e-05", 7), 8},
		"a counter beyond 64 bits":      {"00000000000099999999999999999999.0.1", "100000000000000000000"},
		"a counter without its padding": {"5.0", 6},
	} {
		t.Run("is Python's text after "+name, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				got := next(t, c.current)
				require.Regexp(t, fmt.Sprintf(`^%032v\.[-0-9.e]{16,}$`, c.counter), got)
				if current, ok := c.current.(string); ok && len(current) > 30 {
					require.Greater(t, got, current, "as text, by byte")
				}
			}
		})
	}
	t.Run("differs each time", func(t *testing.T) {
		t.Parallel()
		distinct := value[int](t, db, `
			select count(distinct langgraph.next_channel_version(null)) from generate_series(1, 200)`)
		require.Equal(t, 200, distinct)
	})
	t.Run("rises over a thousand steps", func(t *testing.T) {
		t.Parallel()
		falls := value[int](t, db, `
			with recursive v as (
				select 1 as n, langgraph.next_channel_version(null) as version
				union all
				select n + 1, langgraph.next_channel_version(version) from v where n < 1000
			)
			select count(*) from (select version, lag(version) over (order by n) as before from v) v
			where version collate "C" <= before`)
		require.Zero(t, falls)
	})
	for _, current := range []string{"", "x", "1x", ".5", "-1", "1e5", " 1", "v1.0", "1\n"} {
		t.Run(fmt.Sprintf("refuses %q", current), func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid channel version", detail: "begins with no counter", hint: "null for its first"},
				attempt(t.Context(), db, "select langgraph.next_channel_version($1)", current))
		})
	}
}
