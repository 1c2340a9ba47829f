package pgsaver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestAValueComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	saver := newSaver(t)
	large := make([]byte, 16<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(large)
	for name, value := range map[string]any{
		"null":                    nil,
		"true":                    true,
		"an integer":              int64(42),
		"the largest integer":     int64(math.MaxInt64),
		"an integer beyond int64": uint64(math.MaxUint64),
		"a whole float":           1.0,
		"a tiny float":            5e-324,
		"a huge float":            1e300,
		"negative zero":           math.Copysign(0, -1),
		"infinity":                math.Inf(1),
		"text":                    "您好!👋",
		"empty text":              "",
		"text with NUL":           "a\x00b",
		"text like an escape":     `\u0000 and \\u0000`,
		"bytes":                   []byte{0, 1, 255},
		"no bytes":                []byte{},
		"a list":                  []any{int64(1), "zwei", nil},
		"16 MB of bytes":          large,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := put(t, saver, checkpoint.Config{ThreadID: name}, step(map[string]any{"value": value}))
			require.NoError(t, saver.PutWrites(t.Context(), config, []checkpoint.Write{{Channel: "value", Value: value}}, "task", ""))
			tuple, err := saver.Get(t.Context(), config)
			require.NoError(t, err)
			require.Contains(t, tuple.Checkpoint.ChannelValues, "value")
			require.Equal(t, value, tuple.Checkpoint.ChannelValues["value"])
			require.Equal(t, value, tuple.PendingWrites[0].Value)
			if f, isFloat := value.(float64); isFloat {
				require.Equal(t, math.Signbit(f), math.Signbit(tuple.Checkpoint.ChannelValues["value"].(float64)))
			}
		})
	}
}

func TestNaNComesBackAsNaN(t *testing.T) {
	t.Parallel()
	saver := newSaver(t)
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(map[string]any{"value": math.NaN()}))
	tuple, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
	value, isFloat := tuple.Checkpoint.ChannelValues["value"].(float64)
	require.True(t, isFloat)
	require.True(t, math.IsNaN(value))
}

func TestIdentifiersMayBeAnyText(t *testing.T) {
	t.Parallel()
	saver := newSaver(t)
	for name, text := range map[string]string{
		"quotes":           `it's "quoted" \ $1 %s`,
		"unicode":          "线程 – née 👩‍👩‍👧",
		"1,000 characters": strings.Repeat("é", 999) + "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cp := step(map[string]any{text: []any{"v"}})
			cp.ID = "1-" + text
			config := put(t, saver, checkpoint.Config{ThreadID: text, Namespace: text}, cp)
			require.NoError(t, saver.PutWrites(t.Context(), config, []checkpoint.Write{{Channel: text, Value: "w"}}, text, text))
			tuple, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: text, Namespace: text})
			require.NoError(t, err)
			require.Equal(t, config, tuple.Config)
			require.Equal(t, []any{"v"}, serde.Plain(tuple.Checkpoint.ChannelValues[text]))
			require.Equal(t, []checkpoint.Write{{TaskID: text, TaskPath: text, Channel: text, Value: "w"}}, tuple.PendingWrites)
		})
	}
}

func TestArgumentsThatCannotBeUsedAreRefusedAndNothingIsSaved(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	valid := func() *checkpoint.Checkpoint { return step(map[string]any{"c": []any{1}}) }
	noVersion := valid()
	noVersion.ChannelVersions = nil
	withoutID := valid()
	withoutID.ID = ""
	incompressible := make([]byte, 8000)
	random := rand.NewChaCha8([32]byte{2})
	_, _ = random.Read(incompressible)
	long := strings.ToValidUTF8(string(incompressible), "")
	for name, call := range map[string]func(ctx context.Context) error{
		"put without a thread": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{}, valid(), nil, nil)
			return err
		},
		"put without a checkpoint": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, nil, nil, nil)
			return err
		},
		"put without an id": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, withoutID, nil, nil)
			return err
		},
		"put of a checkpoint that is its own parent": func(ctx context.Context) error {
			cp := valid()
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t", CheckpointID: cp.ID}, cp, nil, nil)
			return err
		},
		"put of a value without a version": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, noVersion, nil, nil)
			return err
		},
		"put of a new version that the checkpoint does not have": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, valid(), nil,
				map[string]checkpoint.Version{"c": checkpoint.IntVersion(7)})
			return err
		},
		"put of a value that has no serialized form": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, step(map[string]any{"c": make(chan int)}), nil, nil)
			return err
		},
		"put of text that is not UTF-8": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, step(map[string]any{"c": "\xff"}), nil, nil)
			return err
		},
		"put of metadata that JSON cannot hold": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "t"}, valid(), checkpoint.Metadata{"score": math.NaN()}, nil)
			return err
		},
		"a thread with NUL": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "a\x00b"}, valid(), nil, nil)
			return err
		},
		"a thread that is not UTF-8": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: "a\xffb"}, valid(), nil, nil)
			return err
		},
		"a thread too long for the index": func(ctx context.Context) error {
			_, err := saver.Put(ctx, checkpoint.Config{ThreadID: strings.ReplaceAll(long, "\x00", "")}, valid(), nil, nil)
			return err
		},
		"writes without a checkpoint": func(ctx context.Context) error {
			return saver.PutWrites(ctx, checkpoint.Config{ThreadID: "t"}, []checkpoint.Write{{Channel: "c"}}, "task", "")
		},
		"a write that has no serialized form": func(ctx context.Context) error {
			return saver.PutWrites(ctx, checkpoint.Config{ThreadID: "t", CheckpointID: "c"},
				[]checkpoint.Write{{Channel: "a", Value: "fine"}, {Channel: "b", Value: func() {}}}, "task", "")
		},
		"get without a thread": func(ctx context.Context) error {
			_, err := saver.Get(ctx, checkpoint.Config{})
			return err
		},
		"list with a negative limit": func(ctx context.Context) error {
			for _, err := range saver.List(ctx, checkpoint.Config{ThreadID: "t"}, checkpoint.ListOptions{Limit: -1}) {
				return err
			}
			return nil
		},
		"delete without a thread": func(ctx context.Context) error { return saver.DeleteThread(ctx, "") },
		"fork without a checkpoint": func(ctx context.Context) error {
			_, err := saver.Fork(ctx, checkpoint.Config{ThreadID: "t"}, checkpoint.ForkOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call(t.Context())
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
			require.Greater(t, len(err.Error()), 40, "the error says what is wrong")
			require.Zero(t, count(t, pool, `select (select count(*) from langgraph.checkpoints)
				+ (select count(*) from langgraph.checkpoint_blobs) + (select count(*) from langgraph.checkpoint_writes)`))
		})
	}
}

func TestErrorsOfTheDatabaseStayReachable(t *testing.T) {
	t.Parallel()
	saver := newSaver(t)
	_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: ""})
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "LG002", pgErr.Code)
	require.Contains(t, err.Error(), pgErr.Detail)
	require.Contains(t, err.Error(), pgErr.Hint)
}

func TestACheckpointThatDoesNotExistIsNotFound(t *testing.T) {
	t.Parallel()
	saver := newSaver(t)
	_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "nobody"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorContains(t, err, `thread "nobody" has no checkpoint in namespace ""`)
	_, err = saver.Fork(t.Context(), checkpoint.Config{ThreadID: "nobody", CheckpointID: "c"}, checkpoint.ForkOptions{})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}

func TestAVersionThatHasAnotherValueIsACollisionAndNothingIsSaved(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	first := step(map[string]any{"c": []any{"first"}})
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, first)
	second := step(map[string]any{"c": []any{"second"}, "d": []any{"new"}})
	second.ChannelVersions["c"] = first.ChannelVersions["c"]
	_, err := saver.PutStep(t.Context(), config, second, nil, nil, []checkpoint.Write{{TaskID: "task", Channel: "c", Value: 1}})
	require.ErrorIs(t, err, checkpoint.ErrVersionCollision)
	require.ErrorContains(t, err, "'c'")
	require.Equal(t, 1, count(t, pool, "select count(*) from langgraph.checkpoints"))
	require.Equal(t, 1, count(t, pool, "select count(*) from langgraph.checkpoint_blobs"))
	require.Zero(t, count(t, pool, "select count(*) from langgraph.checkpoint_writes"))
	put(t, saver, checkpoint.Config{ThreadID: "t"}, first) // the same again is a retry
}

func TestAPinnedThreadIsNotDeleted(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(nil))
	exec(t, pool, "insert into langgraph.checkpoint_pins (thread_id, checkpoint_id) values ('t', $1)", config.CheckpointID)
	require.ErrorIs(t, saver.DeleteThread(t.Context(), "t"), checkpoint.ErrPinned)
	_, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
}

func TestDamagedValuesAreReportedWithWhereTheyStand(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	for name, damage := range map[string]struct {
		sql  string
		want error
	}{
		"a blob cut short":          {"blob = substring(blob for 3)", checkpoint.ErrCorrupt},
		"a type nobody knows":       {"type = 'yaml'", serde.ErrUnknownType},
		"a pickle":                  {"type = 'pickle'", serde.ErrPickled},
		"an encrypted value":        {"type = 'msgpack+aes'", serde.ErrUnknownType},
		"JSON that is none":         {"type = 'json'", serde.ErrCorrupt},
		"bytes after the value":     {"blob = blob || '\\x00'", serde.ErrCorrupt},
		"a value that is not there": {"blob = null", serde.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := put(t, saver, checkpoint.Config{ThreadID: name}, step(map[string]any{"c": []any{"value"}}))
			exec(t, pool, "update langgraph.checkpoint_blobs set "+damage.sql+" where thread_id = $1", name)
			_, err := saver.Get(t.Context(), config)
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			require.ErrorIs(t, err, damage.want)
			require.ErrorContains(t, err, `channel "c"`)
			require.ErrorContains(t, err, config.CheckpointID)
			for _, err = range saver.List(t.Context(), config, checkpoint.ListOptions{}) {
				require.ErrorIs(t, err, damage.want)
			}
		})
	}
}

func TestACancelledCallReturnsPromptlyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	config, cp := blocked(t, pool, saver)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := saver.PutStep(ctx, config, cp, nil, nil, []checkpoint.Write{{TaskID: "task", Channel: "c", Value: 1}})
		done <- err
	}()
	waitUntilBlocked(t, pool)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool {
		return count(t, pool, "select count(*) from pg_locks where not granted") == 0
	}, time.Minute, 10*time.Millisecond, "the server has given up as well")
	require.Zero(t, count(t, pool, "select count(*) from langgraph.checkpoints"))

	_, err := saver.Get(ctx, config)
	require.ErrorIs(t, err, context.Canceled)
	for _, err := range saver.List(ctx, config, checkpoint.ListOptions{}) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// blocked returns a checkpoint whose put waits, because another transaction is saving the same one and does not end before
// the test does.
func blocked(t *testing.T, pool interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, saver *pgsaver.Saver,
) (checkpoint.Config, *checkpoint.Checkpoint) {
	t.Helper()
	tx, err := pool.Begin(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	config, cp := checkpoint.Config{ThreadID: "t"}, step(map[string]any{"c": []any{1}})
	put(t, saver.WithTx(tx), config, cp)
	return config, cp
}

func waitUntilBlocked(t *testing.T, db pgsaver.DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, db, "select count(*) from pg_locks where not granted") == 1
	}, time.Minute, time.Millisecond)
}

func TestAServerThatGoesAwayMidCallLeavesNothingHalfWritten(t *testing.T) {
	t.Parallel()
	postgres, err := testcontainers.Run(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, postgres.Close(context.Background())) })
	if postgres.Backend() == testcontainers.DatabaseURL {
		t.Log("the server belongs to someone else and is not stopped; its connection is cut instead")
	}
	pool := pgxtest.NewPool(t, postgres.ConnString())
	saver := pgsaver.New(pool, nil)
	config, cp := blocked(t, pool, saver)

	done := make(chan error, 1)
	go func() {
		_, err := saver.PutStep(context.Background(), config, cp, nil, nil,
			[]checkpoint.Write{{TaskID: "task", Channel: "c", Value: 1}})
		done <- err
	}()
	waitUntilBlocked(t, pool)
	if postgres.Backend() == testcontainers.DatabaseURL {
		exec(t, pool, "select pg_terminate_backend(pid) from pg_locks where not granted")
	} else {
		require.NoError(t, postgres.Kill(t.Context()))
	}
	err = <-done
	require.Error(t, err)
	require.NotErrorIs(t, err, context.Canceled)

	if postgres.Backend() != testcontainers.DatabaseURL {
		require.NoError(t, postgres.Start(t.Context()))
	}
	again := pgxtest.NewPool(t, postgres.ConnString())
	require.Zero(t, count(t, again, `select (select count(*) from langgraph.checkpoints)
		+ (select count(*) from langgraph.checkpoint_blobs) + (select count(*) from langgraph.checkpoint_writes)`))
	put(t, pgsaver.New(again, nil), config, cp)
}

func TestTwoWritersOfOneThreadBothKeepWhatTheySaved(t *testing.T) {
	t.Parallel()
	saver := newSaver(t)
	root := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(map[string]any{"log": []any{}}))
	const writers, steps = 4, 25
	results := make(chan error, writers)
	for w := range writers {
		go func() {
			config := root
			for i := range steps {
				cp := step(map[string]any{"log": []any{w, i}})
				saved, err := saver.Put(context.Background(), config, cp, checkpoint.Metadata{"writer": w, "step": i}, nil)
				if err == nil {
					err = saver.PutWrites(context.Background(), saved, []checkpoint.Write{{Channel: "log", Value: i}}, "task", "")
				}
				if err != nil {
					results <- err
					return
				}
				config = saved
			}
			results <- nil
		}()
	}
	for range writers {
		require.NoError(t, <-results)
	}
	for w := range writers {
		seen := 0
		for tuple, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: "t"},
			checkpoint.ListOptions{Filter: checkpoint.Metadata{"writer": w}}) {
			require.NoError(t, err)
			i := steps - 1 - seen
			require.Equal(t, []any{int64(w), int64(i)}, serde.Plain(tuple.Checkpoint.ChannelValues["log"]))
			require.Len(t, tuple.PendingWrites, 1)
			seen++
		}
		require.Equal(t, steps, seen)
	}
}

func TestInATransactionCheckpointsCommitWithTheApplicationsRows(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	exec(t, pool, "create table orders (id int)")
	failed := errors.New("the order is refused")
	var config checkpoint.Config
	buy := func(fail error) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "insert into orders values (1)"); err != nil {
				return err
			}
			config = put(t, saver.WithTx(tx), checkpoint.Config{ThreadID: "t"}, step(map[string]any{"order": []any{1}}))
			tuple, err := saver.WithTx(tx).Get(t.Context(), config)
			require.NoError(t, err, "a transaction sees what it saved")
			require.Equal(t, config, tuple.Config)
			return fail
		})
	}
	require.ErrorIs(t, buy(failed), failed)
	_, err := saver.Get(t.Context(), config)
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.NoError(t, buy(nil))
	_, err = saver.Get(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, 1, count(t, pool, "select count(*) from orders"))
}

func TestReadsGoToTheReader(t *testing.T) {
	t.Parallel()
	writer, reader := newPool(t), newPool(t)
	saver := pgsaver.New(writer, &pgsaver.Config{Reader: reader})
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(nil))
	_, err := saver.Get(t.Context(), config)
	require.ErrorIs(t, err, checkpoint.ErrNotFound, "the reader is another database")
	put(t, pgsaver.New(reader, nil), checkpoint.Config{ThreadID: "t"}, step(nil))
	_, err = saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
	require.NoError(t, err)
}

func TestAnEncryptedSaverKeepsNoPlainTextInline(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	key := bytes.Repeat([]byte("k"), 32)
	cipher, err := serde.NewAES(key)
	require.NoError(t, err)
	saver := pgsaver.New(pool, &pgsaver.Config{Serde: serde.Encrypted(serde.Default(), cipher)})
	values := map[string]any{"text": "geheim", "list": []any{"geheim"}, "number": int64(7)}
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(values))
	tuple, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, "geheim", tuple.Checkpoint.ChannelValues["text"])
	require.Equal(t, int64(7), tuple.Checkpoint.ChannelValues["number"])
	require.Zero(t, count(t, pool, "select count(*) from langgraph.checkpoints where checkpoint::text like '%geheim%'"))
	require.Equal(t, 3, count(t, pool, "select count(*) from langgraph.checkpoint_blobs where type = 'msgpack+aes'"))
}

// Every saver without encryption keeps primitives in the checkpoint's JSON, whatever they are, so the next checkpoint has to
// carry them on although their channel did not change.
func TestAnUnchangedPrimitiveIsNotLost(t *testing.T) {
	t.Parallel()
	cipher, err := serde.NewAES(bytes.Repeat([]byte("k"), 16))
	require.NoError(t, err)
	pool := newPool(t)
	plain := pgsaver.New(pool, nil)
	encrypted := pgsaver.New(pool, &pgsaver.Config{Serde: serde.Encrypted(serde.Default(), cipher)})
	beyond, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	values := map[string]any{
		"long": 1.2345678901234567e-10, "huge": 1e300, "wide": uint64(math.MaxUint64), "beyond": beyond, "text": "geheim", "none": nil,
		"yes": true, "zero": math.Copysign(0, -1), "nul": "a\x00b",
	}
	for name, next := range map[string]*pgsaver.Saver{"plain": plain, "encrypted": encrypted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := maps.Clone(values)
			if name == "encrypted" {
				delete(values, "beyond") // MessagePack, and so the encrypted form, has no integers beyond 64 bits
			}
			config := put(t, plain, checkpoint.Config{ThreadID: name}, step(values))
			for range 2 {
				tuple, err := next.Get(t.Context(), config)
				require.NoError(t, err)
				cp := *tuple.Checkpoint
				cp.ID = checkpoint.NewID(1)
				config, err = next.Put(t.Context(), config, &cp, nil, map[string]checkpoint.Version{})
				require.NoError(t, err)
			}
			tuple, err := next.Get(t.Context(), config)
			require.NoError(t, err)
			for channel, value := range values {
				require.Contains(t, tuple.Checkpoint.ChannelValues, channel)
				require.EqualValues(t, value, tuple.Checkpoint.ChannelValues[channel], channel)
			}
		})
	}
}

// The pages of every table, index and TOAST table are searched as the server wrote them, after a checkpoint. That a saver
// without encryption leaves the secret there shows that the search would find it.
func TestAnEncryptedSaverLeavesNoPlainTextInThePagesOfTheDatabase(t *testing.T) {
	t.Parallel()
	cipher, err := serde.NewAES(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		config *pgsaver.Config
		found  bool
	}{
		"encrypted": {&pgsaver.Config{Serde: serde.Encrypted(serde.Default(), cipher)}, false},
		"plain":     {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t)
			saver := pgsaver.New(pool, test.config)
			for i, value := range []any{
				"s3cr3t-Qx7",
				[]any{"s3cr3t-Qx7"},
				map[string]any{"k": "s3cr3t-Qx7"},
				[]byte("s3cr3t-Qx7"),
				serde.DeltaSnapshot{Value: []any{"s3cr3t-Qx7"}},
				messages.Human("s3cr3t-Qx7"),
			} {
				config := checkpoint.Config{ThreadID: fmt.Sprint(i)}
				config, err := saver.PutStep(t.Context(), config, step(map[string]any{"c": value}), nil, nil,
					[]checkpoint.Write{{TaskID: "task", Channel: "c", Value: value}})
				require.NoError(t, err)
				_, err = saver.Fork(t.Context(), config, checkpoint.ForkOptions{CopyBlobs: true})
				require.NoError(t, err)
			}
			exec(t, pool, "checkpoint")
			pages := count(t, pool, `
				select count(*)
				from pg_class c
				where c.relkind in ('r', 'i', 't')
					and pg_relation_filenode(c.oid) is not null
					and position('s3cr3t-Qx7'::bytea in pg_read_binary_file(pg_relation_filepath(c.oid))) > 0`)
			require.Equal(t, test.found, pages > 0)
		})
	}
}

func TestPacketsOfOldCheckpointsComeFromTheirParent(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	root := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(nil))
	require.NoError(t, saver.PutWrites(t.Context(), root, []checkpoint.Write{
		{Channel: checkpoint.ChannelTasks, Value: "first"}, {Channel: checkpoint.ChannelTasks, Value: "second"},
	}, "task", ""))
	old := step(map[string]any{"c": []any{1}})
	old.V = 2
	tuple, err := saver.Get(t.Context(), put(t, saver, root, old))
	require.NoError(t, err)
	require.Equal(t, []any{"first", "second"}, tuple.Checkpoint.ChannelValues[checkpoint.ChannelTasks])
	require.Equal(t, old.ChannelVersions["c"], tuple.Checkpoint.ChannelVersions[checkpoint.ChannelTasks])

	current := step(nil)
	tuple, err = saver.Get(t.Context(), put(t, saver, root, current))
	require.NoError(t, err)
	require.NotContains(t, tuple.Checkpoint.ChannelValues, checkpoint.ChannelTasks)
}
