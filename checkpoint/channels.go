package checkpoint

import (
	"slices"
	"strings"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

// Names that LangGraph gives a meaning, beside those of checkpoint.go.
const (
	// NodeStart is the node that takes the input of a graph.
	NodeStart = ChannelStart
	// NodeEnd stands for the end of a graph.
	NodeEnd = "__end__"
	// NodeInput stands for the input of a run, in [UpdateOptions.AsNode].
	NodeInput = "__input__"

	channelErrorSource = "__error_source_node__"
	channelNoWrites    = "__no_writes__"
	channelPrevious    = "__previous__"
	channelPush        = "__pregel_push"
	channelReturn      = "__return__"
	// channelRoot is the only channel of a graph whose state has no keys.
	channelRoot = "__root__"

	// prefixBranchTo and prefixJoin begin the channels that trigger nodes: branch:to:<node> after any edge or branch, and
	// join:<start>+<start>:<node> after an edge from several nodes at once.
	prefixBranchTo = "branch:to:"
	prefixJoin     = "join:"

	// nullTaskID is the task of what a run writes before any of its tasks does: the update and the answer of a Command.
	nullTaskID = "00000000-0000-0000-0000-000000000000"
	// seenBumps keeps, in VersionsSeen, what a snapshot alone has bumped: see markBumpsSeen.
	seenBumps = "__snapshot_bumps__"
)

// isStatus says whether a write to the channel tells what happened to a task rather than what it produced.
func isStatus(channel string) bool {
	switch channel {
	case ChannelError, ChannelInterrupt, ChannelResume, channelErrorSource:
		return true
	}
	return false
}

// isMarker says whether a write to the channel belongs to no channel of the graph.
func isMarker(channel string) bool {
	return isStatus(channel) || channel == channelNoWrites || channel == channelPush || channel == channelReturn
}

// isState says whether a channel holds state that a user of the graph sees.
func isState(channel string) bool {
	switch channel {
	case ChannelStart, ChannelTasks, ChannelScheduled, channelPrevious, NodeInput:
		return false
	}
	return !isMarker(channel) && !strings.HasPrefix(channel, prefixBranchTo) && !strings.HasPrefix(channel, prefixJoin)
}

// isEphemeral says whether a channel that steers the graph is empty again after one superstep.
func isEphemeral(channel string) bool {
	return channel == ChannelStart || strings.HasPrefix(channel, prefixBranchTo)
}

// triggeredNode is the node that a channel triggers.
func triggeredNode(channel string) (string, bool) {
	if channel == ChannelStart {
		return NodeStart, true
	}
	if node, ok := strings.CutPrefix(channel, prefixBranchTo); ok {
		return node, true
	}
	if strings.HasPrefix(channel, prefixJoin) {
		return channel[strings.LastIndexByte(channel, ':')+1:], true
	}
	return "", false
}

// isAvailable says whether a channel that has a value offers it: a join does not until all have arrived, and a deferred
// node's channels do not until everything else is done.
func isAvailable(channel string, value any) bool {
	switch {
	case channel == ChannelTasks:
		return len(packetsOf(value)) > 0
	case strings.HasPrefix(channel, prefixJoin):
		b := barrierOf(value)
		return b.complete(channel) && (!b.deferred || b.finished)
	case strings.HasPrefix(channel, prefixBranchTo):
		_, finished, deferred := deferredValue(value)
		return !deferred || finished
	}
	return true
}

// deferredValue takes apart what the channel of a deferred node holds: a value, and whether all else is done.
func deferredValue(value any) (inner any, finished, ok bool) {
	pair, isList := value.([]any)
	if !isList || len(pair) != 2 {
		return nil, false, false
	}
	finished, ok = pair[1].(bool)
	return pair[0], finished, ok
}

// barrier is the value of a join: who has arrived.
type barrier struct {
	arrived            []string
	deferred, finished bool
}

func barrierOf(value any) barrier {
	var b barrier
	if inner, finished, ok := deferredValue(value); ok {
		value, b.deferred, b.finished = inner, true, finished
	}
	items, _ := listOf(value)
	for _, item := range items {
		if name, ok := item.(string); ok {
			b.arrived = append(b.arrived, name)
		}
	}
	return b
}

// complete compares lengths, because a node's name may contain the plus sign that separates names.
func (b barrier) complete(channel string) bool {
	end := strings.LastIndexByte(channel, ':')
	if end < len(prefixJoin) || len(b.arrived) == 0 {
		return false
	}
	return len(strings.Join(b.arrived, "+")) == end-len(prefixJoin)
}

func (b barrier) value() any {
	names := make(serde.Set, len(b.arrived))
	for i, name := range b.arrived {
		names[i] = name
	}
	if b.deferred {
		return []any{names, b.finished}
	}
	return names
}

// expects says whether name is one of those the join of this channel waits for.
func (b barrier) expects(channel, name string) bool {
	end := strings.LastIndexByte(channel, ':')
	if end < len(prefixJoin) || name == "" {
		return false
	}
	return strings.Contains("+"+channel[len(prefixJoin):end]+"+", "+"+name+"+")
}

// packetsOf are the messages to nodes that the channel of tasks holds.
func packetsOf(value any) []any {
	packets, _ := listOf(value)
	return packets
}

// packetNode is the node that a packet is for.
func packetNode(packet any) (string, bool) {
	switch p := packet.(type) {
	case serde.Send:
		return p.Node, true
	case *serde.Send:
		return p.Node, true
	case *ordered.Map:
		return ordered.Lookup[string](p, "node")
	case map[string]any:
		node, ok := p["node"].(string)
		return node, ok
	}
	return "", false
}

// listOf returns the elements of what Python would iterate as a list, set or tuple.
func listOf(value any) ([]any, bool) {
	switch v := value.(type) {
	case []any:
		return v, true
	case serde.Set:
		return v, true
	case serde.FrozenSet:
		return v, true
	case serde.Deque:
		return v, true
	}
	return elementsOf(value)
}

// newestVersion is the highest version of any channel.
func newestVersion(versions map[string]Version) Version {
	var newest Version
	for _, version := range versions {
		if version.Compare(newest) > 0 {
			newest = version
		}
	}
	return newest
}

// isDeltaSnapshot says whether a value is the full value of a delta channel.
func isDeltaSnapshot(value any) bool {
	switch value.(type) {
	case serde.DeltaSnapshot, *serde.DeltaSnapshot:
		return true
	}
	return false
}

// storedValue is the value that a stored one stands for.
func storedValue(value any) any {
	switch v := value.(type) {
	case serde.DeltaSnapshot:
		return v.Value
	case *serde.DeltaSnapshot:
		return v.Value
	}
	return value
}

// deltaCountersKey is where metadata counts, for each delta channel, the updates and supersteps since its last snapshot.
const deltaCountersKey = "counters_since_delta_snapshot"

// deltaCounters are the updates and supersteps since the last snapshot of a delta channel.
type deltaCounters struct{ updates, supersteps int64 }

func countersOf(metadata Metadata) map[string]deltaCounters {
	counters := map[string]deltaCounters{}
	for channel, value := range mappingOf(metadata[deltaCountersKey]) {
		pair, _ := listOf(value)
		if len(pair) == 2 {
			counters[channel] = deltaCounters{integerOf(pair[0]), integerOf(pair[1])}
		}
	}
	return counters
}

// mappingOf returns the entries with text keys of any map; nil if the value is none.
func mappingOf(value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return v
	case *ordered.Map:
		entries := make(map[string]any, v.Len())
		for key, element := range v.All() {
			if name, ok := key.(string); ok {
				entries[name] = element
			}
		}
		return entries
	}
	return nil
}

func integerOf(value any) int64 {
	switch v := value.(type) {
	case int64:
		return v
	case int:
		return int64(v)
	case float64:
		return int64(v)
	}
	return 0
}

// sortedKeys are the keys of a map, so that work over it is done in the same order every time.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
