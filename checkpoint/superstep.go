package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// channels are those of a graph while a superstep is applied to them.
type channels struct {
	values   map[string]any
	versions map[string]Version
	seen     map[string]map[string]Version
	reducers map[string]Reducer
	defaults map[string]any
	// deltas are the channels whose values are not saved as they are.
	deltas map[string]bool
	// floor is a version that new ones may not be below.
	floor Version
}

// apply applies the writes of the tasks of one superstep, as the runtime does at its end.
func (c *channels) apply(tasks []taskWrites) error {
	tasks = slices.SortedStableFunc(slices.Values(tasks), func(a, b taskWrites) int { return strings.Compare(a.path, b.path) })
	var writes []Write
	steps := false
	for _, task := range tasks {
		c.see(task)
		writes = append(writes, task.writes...)
		steps = steps || len(task.triggers) > 0
	}
	next := c.after(newestVersion(c.versions))
	for _, task := range tasks {
		for _, channel := range task.triggers {
			c.consume(channel, next)
		}
	}
	updated, err := c.write(writes, next)
	if err != nil || !steps {
		return err
	}
	c.clear(updated, next)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(updated)), triggersNode) {
		c.finish(next)
	}
	return nil
}

func triggersNode(channel string) bool {
	_, ok := triggeredNode(channel)
	return ok
}

// see notes that a task has run with what triggered it.
func (c *channels) see(task taskWrites) {
	if c.seen[task.node] == nil {
		c.seen[task.node] = map[string]Version{}
	}
	for _, channel := range task.triggers {
		if version, ok := c.versions[channel]; ok {
			c.seen[task.node][channel] = version
		}
	}
}

// after is the version that follows another, of the kind that the thread has.
func (c *channels) after(version Version) Version {
	if c.floor.Compare(version) > 0 {
		return c.floor
	}
	if newest := newestVersion(c.versions); version.IsZero() && newest.number {
		return NextVersion(newest)
	}
	return NextVersion(version)
}

// consume empties what has triggered a task and does not empty itself: joins and the channels of deferred nodes.
func (c *channels) consume(channel string, next Version) {
	value, ok := c.values[channel]
	if !ok || !isAvailable(channel, value) {
		return
	}
	if strings.HasPrefix(channel, prefixJoin) {
		c.values[channel] = barrier{deferred: barrierOf(value).deferred}.value()
		c.versions[channel] = next
	} else if _, _, deferred := deferredValue(value); deferred && isEphemeral(channel) {
		delete(c.values, channel)
		c.versions[channel] = next
	}
}

// write applies writes and returns the channels that now have something new to offer.
func (c *channels) write(writes []Write, next Version) (map[string]bool, error) {
	updated := map[string]bool{}
	order, updates := byChannel(writes)
	for _, channel := range order {
		if isMarker(channel) {
			continue
		}
		changed, err := c.update(channel, updates[channel])
		if err != nil {
			return nil, fmt.Errorf("channel %q: %w", channel, err)
		}
		if changed {
			c.versions[channel] = next
			if isAvailable(channel, c.values[channel]) {
				updated[channel] = true
			}
		}
	}
	return updated, nil
}

func (c *channels) update(channel string, updates []any) (changed bool, err error) {
	switch {
	case isEphemeral(channel):
		c.values[channel] = updates[len(updates)-1]
		return true, nil
	case channel == ChannelTasks:
		c.values[channel] = flattened(updates)
		return true, nil
	case strings.HasPrefix(channel, prefixJoin):
		return c.arrive(channel, updates)
	}
	current, ok := c.values[channel]
	if !ok {
		current = c.defaults[channel]
	}
	value, err := reduceStep(current, updates, c.reducers[channel])
	if err != nil {
		return false, err
	}
	if value == nil && c.deltas[channel] {
		value = c.defaults[channel]
	}
	c.values[channel] = value
	return true, nil
}

func flattened(updates []any) []any {
	var items []any
	for _, update := range updates {
		if list, ok := update.([]any); ok {
			items = append(items, list...)
		} else {
			items = append(items, update)
		}
	}
	return items
}

// arrive notes who has arrived at a join.
func (c *channels) arrive(channel string, updates []any) (changed bool, err error) {
	b := barrierOf(c.values[channel])
	for _, update := range updates {
		name, _ := update.(string)
		if !b.expects(channel, name) {
			return false, fmt.Errorf("%w: the join does not wait for %v; write the name of a node it is from", ErrInvalidArgument, update)
		}
		if !slices.Contains(b.arrived, name) {
			b.arrived = append(b.arrived, name)
			changed = true
		}
	}
	c.values[channel] = b.value()
	return changed, nil
}

// clear empties the channels that offer something for one superstep only.
func (c *channels) clear(updated map[string]bool, next Version) {
	for _, channel := range sortedKeys(c.values) {
		value := c.values[channel]
		if updated[channel] || !isAvailable(channel, value) {
			continue
		}
		if channel == ChannelTasks {
			c.values[channel] = []any{}
			c.versions[channel] = next
		} else if _, _, deferred := deferredValue(value); isEphemeral(channel) && !deferred {
			delete(c.values, channel)
			c.versions[channel] = next
		}
	}
}

// finish lets deferred nodes run: nothing else does.
func (c *channels) finish(next Version) {
	for _, channel := range sortedKeys(c.values) {
		value := c.values[channel]
		if strings.HasPrefix(channel, prefixJoin) {
			if b := barrierOf(value); b.deferred && !b.finished && b.complete(channel) {
				b.finished = true
				c.values[channel], c.versions[channel] = b.value(), next
			}
			continue
		}
		if inner, finished, deferred := deferredValue(value); deferred && !finished && strings.HasPrefix(channel, prefixBranchTo) {
			c.values[channel], c.versions[channel] = []any{inner, true}, next
		}
	}
}

// bumpKeys are what a bump of a channel is noted under, for a node: the version it was bumped to, and the one that the node
// had really seen. Names of nodes contain neither separator.
func bumpKeys(node, channel string) (advanced, read string) {
	return node + "|" + channel, node + ":" + channel
}

// markBumpsSeen makes whoever had seen a channel's old version have seen the new one, where only a snapshot has bumped it:
// that is no news. What they had really seen is noted beside it, in LangGraph's form.
func markBumpsSeen(seen map[string]map[string]Version, bumped map[string][2]Version) map[string]map[string]Version {
	if len(bumped) == 0 {
		return seen
	}
	marks := maps.Clone(orEmpty(seen[seenBumps]))
	for _, node := range sortedKeys(seen) {
		if node == seenBumps {
			continue
		}
		for _, channel := range sortedKeys(bumped) {
			old, bump := bumped[channel][0], bumped[channel][1]
			if seen[node][channel] != old {
				continue
			}
			advanced, read := bumpKeys(node, channel)
			if !old.IsZero() && marks[advanced] != old {
				marks[read] = old
			}
			marks[advanced] = bump
			seen[node][channel] = bump
		}
	}
	if len(marks) > 0 {
		seen[seenBumps] = marks
	}
	return seen
}

// seenWithoutBumps is what nodes have really seen.
func seenWithoutBumps(seen map[string]map[string]Version) map[string]map[string]Version {
	marks := seen[seenBumps]
	if len(marks) == 0 {
		return seen
	}
	real := map[string]map[string]Version{}
	for node, versions := range seen {
		if node == seenBumps {
			continue
		}
		real[node] = map[string]Version{}
		for channel, version := range versions {
			advanced, read := bumpKeys(node, channel)
			if marks[advanced] != version {
				real[node][channel] = version
			} else if before, ok := marks[read]; ok {
				real[node][channel] = before
			}
		}
	}
	return real
}
