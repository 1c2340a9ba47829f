package checkpoint

import (
	"crypto/sha1" //nolint:gosec // LangGraph names tasks by it; nothing is secured
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

// Task is one node to run, or that ran, in the superstep after a checkpoint.
type Task struct {
	// ID is the task's in its writes: a hash of the checkpoint, the node and what triggers it. Empty where it cannot be
	// known, because the checkpoint's ID is not hexadecimal and nothing was written yet.
	ID string
	// Name is the node.
	Name string
	// Path is where the task stands in its superstep, in the form of [Write.TaskPath]: "~__pregel_pull, <node>" for a node
	// that an edge triggered, "~__pregel_push, <number>, ..." for a packet that was sent to it.
	Path string
	// Namespace is where a subgraph that the task runs keeps its checkpoints.
	Namespace string
	// Error is what the task failed with: for Python the text of the exception. Nil if it did not.
	Error any
	// Interrupts are what the task asks for. Of a superstep in the past they are all that it asked, answered or not.
	Interrupts []serde.Interrupt
	// Result is what the task wrote to each channel of the state, map[string]any; several writes to one channel are a map
	// from "$writes" to their list. A task of a graph whose state has no keys, or of a functional workflow, has its value
	// here. Nil until the task is done.
	Result any
}

// Node is a node of a graph, with what triggers it.
type Node struct {
	Name string
	// Triggers are the channels that trigger the node; nil means its "branch:to:" channel, or "__start__" for [NodeStart].
	Triggers []string
}

// status is what a task's writes tell about it.
type status struct {
	output     []Write
	interrupts []serde.Interrupt
	err        any
}

// finished says whether the task is done: whatever is done has written something, if only a mark that it has nothing to
// write. A task that waits or failed has written only how it stands.
func (s *status) finished() bool { return len(s.output) > 0 }

func (s *status) pending() []serde.Interrupt {
	if s.finished() {
		return nil
	}
	return s.interrupts
}

// statusesOf reads the writes of a superstep, by task.
func statusesOf(writes []Write) map[string]*status {
	statuses := map[string]*status{}
	for _, write := range writes {
		if write.TaskID == nullTaskID {
			continue
		}
		s := statuses[write.TaskID]
		if s == nil {
			s = &status{}
			statuses[write.TaskID] = s
		}
		switch {
		case write.Channel == ChannelInterrupt:
			s.interrupts = append(s.interrupts, interruptsOf(write.Value)...)
		case write.Channel == ChannelError && s.err == nil:
			s.err = write.Value
		case !isStatus(write.Channel):
			s.output = append(s.output, write)
		}
	}
	return statuses
}

func interruptsOf(value any) []serde.Interrupt {
	items, ok := listOf(value)
	if !ok {
		items = []any{value}
	}
	interrupts := make([]serde.Interrupt, len(items))
	for i, item := range items {
		interrupts[i] = interruptOf(item)
	}
	return interrupts
}

func interruptOf(value any) serde.Interrupt {
	switch v := value.(type) {
	case serde.Interrupt:
		return v
	case *serde.Interrupt:
		return *v
	case *ordered.Map, map[string]any:
		// JavaScript stores its interrupts as plain objects.
		fields, _ := orderedOf(v)
		if inner, ok := fields.Get("value"); ok {
			id, _ := ordered.Lookup[string](fields, "id")
			return serde.Interrupt{Value: inner, ID: id}
		}
	}
	return serde.Interrupt{Value: value}
}

// scheduled is a task with the channels that triggered it.
type scheduled struct {
	Task
	triggers []string
}

// tasksAfter are the tasks of the superstep after a checkpoint: what was sent to nodes, then the nodes that channels
// trigger. Nodes nil means that the graph is not known and the nodes are those that the channels name.
func tasksAfter(tuple *Tuple, nodes []Node) []scheduled {
	s := newScheduler(tuple)
	var tasks []scheduled
	for i, packet := range packetsOf(tuple.Checkpoint.ChannelValues[ChannelTasks]) {
		name, ok := packetNode(packet)
		if !ok || nodes != nil && !slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == name }) {
			continue
		}
		tasks = append(tasks, s.push(name, i))
	}
	known := nodes != nil
	if !known {
		nodes = nodesNamed(tuple.Checkpoint)
	}
	for _, node := range nodes {
		if s.triggers(node) {
			tasks = append(tasks, s.pull(node, known))
		}
	}
	return tasks
}

// nodesNamed are the nodes that the channels of a checkpoint name, by name. A join that nobody has arrived at yet is not
// among the triggers: the checkpoint does not have it.
func nodesNamed(cp *Checkpoint) []Node {
	triggers := map[string][]string{}
	for channel := range cp.ChannelVersions {
		node, ok := triggeredNode(channel)
		if !ok {
			continue
		}
		if _, known := triggers[node]; !known && node != NodeStart {
			triggers[node] = []string{prefixBranchTo + node}
		}
		if !slices.Contains(triggers[node], channel) {
			triggers[node] = append(triggers[node], channel)
		}
	}
	nodes := make([]Node, 0, len(triggers))
	for _, name := range sortedKeys(triggers) {
		nodes = append(nodes, Node{name, triggers[name]})
	}
	return nodes
}

type scheduler struct {
	cp        *Checkpoint
	namespace string
	step      string
	// salt are the bytes of the checkpoint's ID; nil if it has no such form.
	salt []byte
	// written are the IDs that tasks wrote under, by path.
	written map[string][]string
}

func newScheduler(tuple *Tuple) *scheduler {
	step := 0
	if saved, ok := tuple.Metadata.Step(); ok {
		step = saved + 1
	}
	s := &scheduler{
		cp: tuple.Checkpoint, namespace: tuple.Config.Namespace, step: strconv.Itoa(step), written: map[string][]string{},
	}
	if salt, err := hex.DecodeString(strings.ReplaceAll(tuple.Checkpoint.ID, "-", "")); err == nil {
		s.salt = salt
	}
	// What a run saved only on its exit stands under made-up IDs, which begin with the step.
	madeUp := fmt.Sprintf("%08d-", step)
	for _, write := range tuple.PendingWrites {
		ids := s.written[write.TaskPath]
		if write.TaskPath != "" && !strings.HasPrefix(write.TaskID, madeUp) && !slices.Contains(ids, write.TaskID) {
			s.written[write.TaskPath] = append(ids, write.TaskID)
		}
	}
	return s
}

func (n Node) channels() []string {
	switch {
	case n.Triggers != nil:
		return n.Triggers
	case n.Name == NodeStart:
		return []string{ChannelStart}
	}
	return []string{prefixBranchTo + n.Name}
}

// triggers says whether a channel of the node has something that the node has not seen.
func (s *scheduler) triggers(node Node) bool {
	seen := s.cp.VersionsSeen[node.Name]
	return slices.ContainsFunc(node.channels(), func(channel string) bool {
		value, ok := s.cp.ChannelValues[channel]
		return ok && isAvailable(channel, value) && s.cp.ChannelVersions[channel].Compare(seen[channel]) > 0
	})
}

func (s *scheduler) pull(node Node, exact bool) scheduled {
	channels := slices.Sorted(slices.Values(node.channels()))
	path := "~__pregel_pull, " + node.Name
	id := s.taskID(node.Name, append([]string{"__pregel_pull"}, channels...)...)
	if ids := s.written[path]; !exact && len(ids) == 1 {
		id = ids[0]
	}
	return s.task(id, node.Name, path, channels)
}

func (s *scheduler) push(node string, number int) scheduled {
	// The last number is Python's False: the packet is no function call.
	path := fmt.Sprintf("~%s, %010d, %010d", channelPush, number, 0)
	id := s.taskID(node, channelPush, strconv.Itoa(number))
	if ids := s.written[path]; id == "" && len(ids) == 1 {
		id = ids[0]
	}
	return s.task(id, node, path, []string{channelPush})
}

func (s *scheduler) task(id, node, path string, triggers []string) scheduled {
	return scheduled{
		Task:     Task{ID: id, Name: node, Path: path, Namespace: s.nested(node) + ":" + id},
		triggers: triggers,
	}
}

// nested is the namespace of a node in that of its graph.
func (s *scheduler) nested(node string) string {
	if s.namespace == "" {
		return node
	}
	return s.namespace + "|" + node
}

// taskID is the hash by which LangGraph names a task: XXH3 of 128 bits, and SHA-1 in the first format of checkpoints.
func (s *scheduler) taskID(node string, parts ...string) string {
	if s.salt == nil {
		return ""
	}
	input := append(slices.Clone(s.salt), s.nested(node)+s.step+node+strings.Join(parts, "")...)
	var hash []byte
	if s.cp.V > 1 || s.cp.V == 0 {
		sum := xxh3.Hash128(input).Bytes()
		hash = sum[:]
	} else {
		sum := sha1.Sum(input) //nolint:gosec // see the import
		hash = sum[:16]
	}
	text := hex.EncodeToString(hash)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// report fills in what the writes of its superstep tell about a task. Live leaves only the interrupts that wait for an
// answer.
func (t *Task) report(s *status, live, root bool) {
	if s == nil {
		return
	}
	t.Error = s.err
	t.Interrupts = s.interrupts
	if live {
		t.Interrupts = s.pending()
	}
	if s.finished() {
		t.Result = resultOf(s.output, root)
	}
}

// resultOf puts the writes of a finished task together.
func resultOf(output []Write, root bool) any {
	result := map[string]any{}
	several := map[string]bool{}
	for _, write := range output {
		if write.Channel == channelReturn {
			return write.Value
		}
		if !isState(write.Channel) {
			continue
		}
		switch held := result[write.Channel]; {
		case held == nil:
			result[write.Channel] = write.Value
		case several[write.Channel]:
			list := held.(map[string]any)
			list["$writes"] = append(list["$writes"].([]any), write.Value)
		default:
			several[write.Channel] = true
			result[write.Channel] = map[string]any{"$writes": []any{held, write.Value}}
		}
	}
	if root {
		return result[channelRoot]
	}
	return result
}

// hasRoot says whether a graph's state has no keys.
func hasRoot(tuple *Tuple) bool {
	_, versioned := tuple.Checkpoint.ChannelVersions[channelRoot]
	return versioned || slices.ContainsFunc(tuple.PendingWrites, func(w Write) bool { return w.Channel == channelRoot })
}
