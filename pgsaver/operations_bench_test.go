package pgsaver_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/testcontainers"
)

// states are what checkpoints of the benchmarks below hold: primitives that stand inline in the checkpoint, the same text in
// rows of its own, and conversations.
var states = []struct {
	name   string
	values map[string]any
}{
	{"small-inline", map[string]any{"a": twoHundredBytes, "b": twoHundredBytes, "c": twoHundredBytes, "d": twoHundredBytes}},
	{"small-rows", map[string]any{"a": []any{twoHundredBytes}, "b": []any{twoHundredBytes}, "c": []any{twoHundredBytes}, "d": []any{twoHundredBytes}}},
	{"20KB", map[string]any{"messages": dialogue(20 << 10)}},
	{"1MB", map[string]any{"messages": dialogue(1 << 20)}},
}

var twoHundredBytes = sentence + sentence[:70]

// dialogue is a conversation of so many bytes: questions, answers, and what tools found.
func dialogue(size int) []any {
	var list []any
	for i := 0; size > 0; i++ {
		id := messages.WithID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))
		said := strings.Repeat(sentence, 1+i%7)
		switch i % 3 {
		case 0:
			list = append(list, messages.Human(said, id))
		case 1:
			list = append(list, messages.AI(said, id))
		default:
			list = append(list, messages.Tool(said, fmt.Sprint("call ", i), id))
		}
		size -= len(said) + 180
	}
	return list
}

// newStep is a checkpoint as a runtime makes it in a loop, with all values new.
func newStep(number int, values map[string]any) (*checkpoint.Checkpoint, checkpoint.Metadata) {
	cp := step(values)
	cp.VersionsSeen = map[string]map[string]checkpoint.Version{"agent": cp.ChannelVersions, "__input__": {}}
	for channel := range values {
		cp.UpdatedChannels = append(cp.UpdatedChannels, channel)
	}
	return cp, checkpoint.Metadata{"source": "loop", "step": number, "parents": map[string]any{}}
}

// operationsSaver is a Saver with one connection to a server of its own. Commits do not wait for the disk, which would hide
// what the client does.
func operationsSaver(b *testing.B) *pgsaver.Saver {
	b.Helper()
	postgres, err := testcontainers.Run(b.Context(), testcontainers.WithoutFsync())
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, postgres.Close(context.Background())) })
	config, err := pgxpool.ParseConfig(postgres.ConnString())
	require.NoError(b, err)
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return pgsaver.New(pool, nil)
}

// cpuTime is the processor time that this process has used; its servers are others.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// measured runs an operation b.N times, after as many that settle the plans of server and client, and reports the CPU time of
// this process beside the clock's, which depends on all that runs on the machine.
func measured(b *testing.B, operation func()) {
	b.Helper()
	const warmUps = 10
	for range warmUps {
		operation()
	}
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		operation()
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

func fillThread(b *testing.B, saver *pgsaver.Saver, thread string, values map[string]any, steps int) {
	b.Helper()
	config := checkpoint.Config{ThreadID: thread}
	for i := range steps {
		cp, metadata := newStep(i, values)
		var err error
		config, err = saver.Put(b.Context(), config, cp, metadata, nil)
		require.NoError(b, err)
	}
}

func BenchmarkGet(b *testing.B) {
	saver := operationsSaver(b)
	for _, state := range states {
		fillThread(b, saver, state.name, state.values, 3)
		b.Run(state.name, func(b *testing.B) {
			measured(b, func() {
				tuple, err := saver.Get(b.Context(), checkpoint.Config{ThreadID: state.name})
				if err != nil || len(tuple.Checkpoint.ChannelValues) != len(state.values) {
					b.Fatal(tuple, err)
				}
			})
		})
	}
}

func BenchmarkList(b *testing.B) {
	saver := operationsSaver(b)
	for _, state := range states[:3] {
		fillThread(b, saver, state.name, state.values, 120)
		for _, limit := range []int{10, 100} {
			b.Run(fmt.Sprint(state.name, "/", limit), func(b *testing.B) {
				measured(b, func() {
					listed := 0
					for _, err := range saver.List(b.Context(), checkpoint.Config{ThreadID: state.name}, checkpoint.ListOptions{Limit: limit}) {
						if err != nil {
							b.Fatal(err)
						}
						listed++
					}
					if listed != limit {
						b.Fatal(listed)
					}
				})
			})
		}
	}
}

func BenchmarkPut(b *testing.B) {
	saver := operationsSaver(b)
	for _, state := range states {
		b.Run(state.name, func(b *testing.B) {
			config := checkpoint.Config{ThreadID: state.name}
			cp, metadata := newStep(0, state.values)
			measured(b, func() {
				cp.ID = checkpoint.NewID(0)
				var err error
				if config, err = saver.Put(b.Context(), config, cp, metadata, nil); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkPutWrites(b *testing.B) {
	saver := operationsSaver(b)
	for _, count := range []int{1, 50} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			writes := make([]checkpoint.Write, count)
			for i := range writes {
				writes[i] = checkpoint.Write{Channel: "a", Value: []any{twoHundredBytes}}
			}
			measured(b, func() {
				config := checkpoint.Config{ThreadID: "writes", CheckpointID: checkpoint.NewID(0)}
				if err := saver.PutWrites(b.Context(), config, writes, "task", "~__pregel_pull, agent"); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
