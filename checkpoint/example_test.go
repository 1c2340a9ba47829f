package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"strings"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// run is a runtime as small as can be: it runs the tasks that wait, saves what each writes, and then the next checkpoint.
type run struct {
	saver checkpoint.Saver
	// nodes are what runs, and edges where it goes from there.
	nodes map[string]func() map[string]any
	edges map[string]string
}

var exampleReducers = map[string]checkpoint.Reducer{"bar": checkpoint.Append}

// step runs one superstep from a checkpoint; false when nothing is left to run.
func (r run) step(ctx context.Context, config checkpoint.Config) (checkpoint.Config, bool) {
	resume := must(checkpoint.ResumePoint(ctx, r.saver, config))
	if len(resume.Remaining) == 0 {
		return resume.Config, false
	}
	tuple := must(r.saver.Get(ctx, resume.Config))
	cp := tuple.Checkpoint
	cp.ID = checkpoint.NewID(0)
	next := checkpoint.NextVersion(newest(cp.ChannelVersions))
	news := map[string]checkpoint.Version{}
	for _, task := range resume.Remaining {
		writes := r.write(tuple, task)
		if err := r.saver.PutWrites(ctx, resume.Config, writes, task.ID, task.Path); err != nil {
			log.Fatal(err)
		}
		trigger := "branch:to:" + task.Name
		if task.Name == checkpoint.NodeStart {
			trigger = checkpoint.ChannelStart
		}
		cp.VersionsSeen[task.Name] = map[string]checkpoint.Version{trigger: cp.ChannelVersions[trigger]}
		delete(cp.ChannelValues, trigger)
		news[trigger] = next
		for _, write := range writes {
			reducer := exampleReducers[write.Channel]
			if reducer == nil {
				reducer = checkpoint.Replace
			}
			cp.ChannelValues[write.Channel] = must(reducer(cp.ChannelValues[write.Channel], write.Value))
			news[write.Channel] = next
		}
	}
	maps.Copy(cp.ChannelVersions, news)
	step, _ := tuple.Metadata.Step()
	metadata := checkpoint.Metadata{"source": checkpoint.SourceLoop, "step": step + 1}
	return must(r.saver.Put(ctx, resume.Config, cp, metadata, news)), true
}

// write is what a task writes: the start passes its input on, and every node triggers the next.
func (r run) write(tuple *checkpoint.Tuple, task checkpoint.Task) []checkpoint.Write {
	values, _ := serde.Plain(tuple.Checkpoint.ChannelValues[checkpoint.ChannelStart]).(map[string]any)
	if task.Name != checkpoint.NodeStart {
		values = r.nodes[task.Name]()
	}
	var writes []checkpoint.Write
	for _, channel := range []string{"foo", "bar"} {
		writes = append(writes, checkpoint.Write{Channel: channel, Value: values[channel]})
	}
	if next, ok := r.edges[task.Name]; ok {
		writes = append(writes, checkpoint.Write{Channel: "branch:to:" + next})
	}
	return writes
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// The state history of LangGraph's first example: a graph of node_a and node_b leaves four checkpoints. Then it goes back to
// where node_b was to run, and on from there, which makes a branch.
func ExampleStateHistory() {
	ctx := context.Background()
	graph := run{
		saver: newMemory(), // in earnest: pgsaver.New(pool, nil)
		nodes: map[string]func() map[string]any{
			"node_a": func() map[string]any { return map[string]any{"foo": "a", "bar": []any{"a"}} },
			"node_b": func() map[string]any { return map[string]any{"foo": "b", "bar": []any{"b"}} },
		},
		edges: map[string]string{checkpoint.NodeStart: "node_a", "node_a": "node_b"},
	}
	thread := checkpoint.Config{ThreadID: "1"}
	config := must(checkpoint.UpdateState(ctx, graph.saver, thread, map[string]any{"foo": "", "bar": []any{}},
		checkpoint.UpdateOptions{AsNode: checkpoint.NodeInput}))
	for more := true; more; {
		config, more = graph.step(ctx, config)
	}

	steps := map[string]string{}
	defaults := checkpoint.WithDefaults(map[string]any{"bar": []any{}})
	var beforeB checkpoint.Config
	var history []*checkpoint.Snapshot
	for snapshot, err := range checkpoint.StateHistory(ctx, graph.saver, thread, checkpoint.ListOptions{}, defaults) {
		if err != nil {
			log.Fatal(err)
		}
		history = append(history, snapshot)
		step, _ := snapshot.Metadata.Step()
		steps[snapshot.Config.CheckpointID] = fmt.Sprint("step ", step)
		fmt.Printf("step %d (%s): values %v, next %v\n", step, snapshot.Metadata.Source(), snapshot.Values, snapshot.Next)
		for _, task := range snapshot.Tasks {
			fmt.Printf("  task %s has written %v\n", task.Name, task.Result)
			if task.Name == "node_b" {
				beforeB = snapshot.Config
			}
		}
	}
	for _, saved := range history {
		if saved.Parent != nil {
			fmt.Println(steps[saved.Config.CheckpointID], "continued from", steps[saved.Parent.CheckpointID])
		}
	}

	replay := must(checkpoint.ResumePoint(ctx, graph.saver, beforeB))
	fmt.Println("replay:", replay.Replay, "done:", names(replay.Done), "remaining:", names(replay.Remaining))
	graph.nodes["node_b"] = func() map[string]any { return map[string]any{"foo": "b again", "bar": []any{"b again"}} }
	branch := must(checkpoint.Fork(ctx, graph.saver, beforeB, checkpoint.ForkOptions{}))
	graph.step(ctx, branch)
	fmt.Println("the branch:", must(checkpoint.GetState(ctx, graph.saver, thread)).Values)
	fmt.Println("the old one:", must(checkpoint.GetState(ctx, graph.saver, config)).Values)

	// Output:
	// step 2 (loop): values map[bar:[a b] foo:b], next []
	// step 1 (loop): values map[bar:[a] foo:a], next [node_b]
	//   task node_b has written map[bar:[b] foo:b]
	// step 0 (loop): values map[bar:[] foo:], next [node_a]
	//   task node_a has written map[bar:[a] foo:a]
	// step -1 (input): values map[bar:[]], next [__start__]
	//   task __start__ has written map[bar:[] foo:]
	// step 2 continued from step 1
	// step 1 continued from step 0
	// step 0 continued from step -1
	// replay: true done: [] remaining: [node_b]
	// the branch: map[bar:[a b again] foo:b again]
	// the old one: map[bar:[a b] foo:b]
}

// A node failed half-way through a superstep of two: when the thread is resumed, the other one does not run again.
func ExampleResumePoint() {
	ctx := context.Background()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "1"}
	config := must(checkpoint.UpdateState(ctx, saver, thread, nil, checkpoint.UpdateOptions{
		AsNode: "plan", Next: []string{"search", "translate"},
	}))
	for _, task := range must(checkpoint.GetState(ctx, saver, thread)).Tasks {
		writes := []checkpoint.Write{{Channel: "found", Value: []any{"a book"}}}
		if task.Name == "translate" {
			writes = []checkpoint.Write{{Channel: checkpoint.ChannelError, Value: "no dictionary"}}
		}
		if err := saver.PutWrites(ctx, config, writes, task.ID, task.Path); err != nil {
			log.Fatal(err)
		}
	}

	resume := must(checkpoint.ResumePoint(ctx, saver, thread))
	fmt.Println("done:", resume.Done[0].Name, resume.Done[0].Result)
	fmt.Println("remaining:", resume.Remaining[0].Name, resume.Remaining[0].Error)
	// Output:
	// done: search map[found:[a book]]
	// remaining: translate no dictionary
}

// With DurabilityExit only the last checkpoint is saved, with what changed on the way to it.
func ExampleWriter() {
	ctx := context.Background()
	saver := newMemory()
	writer := checkpoint.NewWriter(saver, checkpoint.DurabilityExit, nil)
	config := checkpoint.Config{ThreadID: "1"}
	versions := map[string]checkpoint.Version{}
	for step, word := range strings.Fields("warp weft cloth") {
		news := map[string]checkpoint.Version{"word": checkpoint.NextVersion(versions["word"])}
		maps.Copy(versions, news)
		config = must(writer.Put(ctx, config, &checkpoint.Checkpoint{
			ID: checkpoint.NewID(step), ChannelValues: map[string]any{"word": word}, ChannelVersions: maps.Clone(versions),
		}, checkpoint.Metadata{"source": checkpoint.SourceLoop, "step": step}, news))
	}
	_, err := checkpoint.GetState(ctx, saver, config)
	fmt.Println("before:", errors.Is(err, checkpoint.ErrNotFound))
	if err := writer.Close(ctx); err != nil {
		log.Fatal(err)
	}
	snapshot := must(checkpoint.GetState(ctx, saver, config))
	fmt.Println("after:", snapshot.Values, snapshot.Metadata["step"], snapshot.Parent)
	// Output:
	// before: true
	// after: map[word:cloth] 2 <nil>
}

func newest(versions map[string]checkpoint.Version) checkpoint.Version {
	var newest checkpoint.Version
	for _, version := range versions {
		if version.Compare(newest) > 0 {
			newest = version
		}
	}
	return newest
}
