package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// exitMode keeps where the run stands, and saves that when it is told to.
type exitMode struct {
	saver Saver
	// lock is held by whoever has its element; unlike a mutex, waiting for it can be given up.
	lock chan struct{}
	// heads are the checkpoints to save, and order is the order in which their chains began.
	heads map[Config]*head
	order []Config
	// replaced are the checkpoints that others took the place of.
	replaced map[Config]bool
	// others are the writes of checkpoints that are saved already, or not put yet.
	others      map[Config][]batch
	othersOrder []Config
}

// head is a checkpoint to save, with what the ones that it took the place of leave behind.
type head struct {
	config   Config
	cp       *Checkpoint
	metadata Metadata
	// base is the parent that is saved already, if it has an ID.
	base Config
	// firstID and firstTS are those of the first checkpoint of the chain that was replaced.
	firstID, firstTS string
	// changed are the channels that changed since base, with the last value that was stored.
	changed map[string]channelChange
	// deltas are what tasks of replaced checkpoints have written to delta channels since these were last stored.
	deltas []deltaBatch
	// writes are those of the tasks that started from the checkpoint.
	writes []batch
}

type channelChange struct {
	version Version
	value   any
	stored  bool
}

type batch struct {
	taskID, taskPath string
	writes           []Write
}

type deltaBatch struct {
	batch
	step int
	// ofBase says that the tasks started from the base.
	ofBase bool
}

func newExitMode(saver Saver) *exitMode {
	m := &exitMode{
		saver: saver, lock: make(chan struct{}, 1), heads: map[Config]*head{}, replaced: map[Config]bool{},
		others: map[Config][]batch{},
	}
	m.lock <- struct{}{}
	return m
}

func (m *exitMode) acquire(ctx context.Context) error {
	select {
	case <-m.lock:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *exitMode) release() { m.lock <- struct{}{} }

func (m *exitMode) put(ctx context.Context, parent Config, cp *Checkpoint, metadata Metadata,
	newVersions map[string]Version,
) (Config, error) {
	cp, err := copyCheckpoint(cp)
	if err != nil {
		return Config{}, err
	}
	if metadata, err = copyMetadata(metadata); err != nil {
		return Config{}, err
	}
	if newVersions == nil {
		newVersions = cp.ChannelVersions
	}
	if err := m.acquire(ctx); err != nil {
		return Config{}, err
	}
	defer m.release()
	config := parent
	config.CheckpointID = cp.ID
	if err := m.checkKept(parent); err != nil {
		return Config{}, err
	}
	if err := m.checkKept(config); err != nil {
		return Config{}, err
	}
	h, again := m.heads[config]
	if !again {
		h = m.begin(parent, config, cp, metadata)
	}
	h.cp, h.metadata = cp, metadata
	h.change(newVersions)
	return config, nil
}

func (m *exitMode) checkKept(config Config) error {
	if m.replaced[config] {
		return fmt.Errorf("%w: checkpoint %s is not kept, a later one took its place; with durability %q flush the writer "+
			"before a run branches", ErrInvalidArgument, config.CheckpointID, DurabilityExit)
	}
	return nil
}

// begin makes the head for a checkpoint: it takes the place of its parent, or begins a chain.
func (m *exitMode) begin(parent, config Config, cp *Checkpoint, metadata Metadata) *head {
	h := &head{config: config, base: parent, changed: map[string]channelChange{}, writes: m.takeOthers(config)}
	step, _ := metadata.Step()
	if before := m.heads[parent]; before != nil {
		h.base, h.changed, h.deltas = before.base, before.changed, before.deltas
		h.firstID, h.firstTS = before.firstID, before.firstTS
		if h.firstID == "" {
			h.firstID, h.firstTS = before.cp.ID, before.cp.TS
		}
		h.addDeltas(cp, before.writes, step, false)
		delete(m.heads, parent)
		m.replaced[parent] = true
		m.order[slices.Index(m.order, parent)] = config
	} else {
		h.addDeltas(cp, m.takeOthers(parent), step, true)
		m.order = append(m.order, config)
	}
	m.heads[config] = h
	return h
}

func (m *exitMode) takeOthers(config Config) []batch {
	batches, ok := m.others[config]
	if ok {
		delete(m.others, config)
		m.othersOrder = slices.DeleteFunc(m.othersOrder, func(c Config) bool { return c == config })
	}
	return batches
}

// addDeltas keeps what the tasks before a checkpoint wrote to channels that it has a version and no value of: delta
// channels. All else is in the checkpoint's values.
func (h *head) addDeltas(cp *Checkpoint, batches []batch, step int, ofBase bool) {
	for _, b := range batches {
		var writes []Write
		for _, write := range b.writes {
			_, versioned := cp.ChannelVersions[write.Channel]
			_, stored := cp.ChannelValues[write.Channel]
			if isState(write.Channel) && versioned && !stored {
				writes = append(writes, write)
			}
		}
		if len(writes) > 0 {
			h.deltas = append(h.deltas, deltaBatch{batch{b.taskID, b.taskPath, writes}, max(step, 0), ofBase})
		}
	}
}

// change notes what a checkpoint changed. A value that is stored stands for everything written before.
func (h *head) change(newVersions map[string]Version) {
	for channel, version := range newVersions {
		value, stored := h.cp.ChannelValues[channel]
		if !stored {
			// A delta channel's last stored value is still what it is rebuilt from.
			value, stored = h.changed[channel].value, h.changed[channel].stored && h.writesDelta(channel)
			if stored {
				version = h.changed[channel].version
			}
		} else {
			h.dropDeltas(channel)
		}
		h.changed[channel] = channelChange{version, value, stored}
	}
}

func (h *head) writesDelta(channel string) bool {
	return slices.ContainsFunc(h.deltas, func(d deltaBatch) bool {
		return slices.ContainsFunc(d.writes, func(w Write) bool { return w.Channel == channel })
	})
}

func (h *head) dropDeltas(channel string) {
	var kept []deltaBatch
	for _, d := range h.deltas {
		d.writes = slices.DeleteFunc(slices.Clone(d.writes), func(w Write) bool { return w.Channel == channel })
		if len(d.writes) > 0 {
			kept = append(kept, d)
		}
	}
	h.deltas = kept
}

func (m *exitMode) putWrites(ctx context.Context, config Config, writes []Write, taskID, taskPath string) error {
	writes, err := copyWrites(writes)
	if err != nil {
		return err
	}
	if err := m.acquire(ctx); err != nil {
		return err
	}
	defer m.release()
	if err := m.checkKept(config); err != nil {
		return err
	}
	b := batch{taskID, taskPath, writes}
	if h := m.heads[config]; h != nil {
		h.writes = append(h.writes, b)
		return nil
	}
	if _, ok := m.others[config]; !ok {
		m.othersOrder = append(m.othersOrder, config)
	}
	m.others[config] = append(m.others[config], b)
	return nil
}

func (m *exitMode) flush(ctx context.Context) error {
	if err := m.acquire(ctx); err != nil {
		return err
	}
	defer m.release()
	for len(m.order) > 0 {
		h := m.heads[m.order[0]]
		if err := h.save(ctx, m.saver); err != nil {
			return err
		}
		delete(m.heads, h.config)
		m.order = m.order[1:]
	}
	for len(m.othersOrder) > 0 {
		config := m.othersOrder[0]
		if err := putBatches(ctx, m.saver, config, m.others[config]); err != nil {
			return err
		}
		delete(m.others, config)
		m.othersOrder = m.othersOrder[1:]
	}
	return nil
}

func (m *exitMode) close(ctx context.Context) error { return m.flush(ctx) }

// save saves what the head is rebuilt from before the head, so that whoever sees it can rebuild it.
func (h *head) save(ctx context.Context, saver Saver) error {
	parent, err := h.saveDeltas(ctx, saver)
	if err != nil {
		return err
	}
	cp := *h.cp
	cp.ChannelValues = maps.Clone(orEmpty(cp.ChannelValues))
	newVersions := map[string]Version{}
	for channel, change := range h.changed {
		version, ok := cp.ChannelVersions[channel]
		if !ok {
			continue
		}
		newVersions[channel] = version
		if _, given := cp.ChannelValues[channel]; !given && change.stored && change.version == version {
			cp.ChannelValues[channel] = change.value
		}
	}
	if _, err := saver.Put(ctx, parent, &cp, h.metadata, newVersions); err != nil {
		return err
	}
	return putBatches(ctx, saver, h.config, h.writes)
}

func putBatches(ctx context.Context, saver Saver, config Config, batches []batch) error {
	for _, b := range batches {
		if err := saver.PutWrites(ctx, config, b.writes, b.taskID, b.taskPath); err != nil {
			return err
		}
	}
	return nil
}

// saveDeltas saves what was written to delta channels, and returns the parent for the head.
func (h *head) saveDeltas(ctx context.Context, saver Saver) (Config, error) {
	if len(h.deltas) == 0 {
		return h.base, nil
	}
	anchor, err := h.saveAnchor(ctx, saver)
	if err != nil {
		return Config{}, err
	}
	return anchor, putBatches(ctx, saver, anchor, h.deltaBatches())
}

// saveAnchor returns the checkpoint to save the writes with: the base, unless there is none or the channels have been
// stored since. Then it is one of its own, with these values.
func (h *head) saveAnchor(ctx context.Context, saver Saver) (Config, error) {
	anchor := &Checkpoint{
		V: FormatVersion, ID: h.firstID, TS: h.firstTS, ChannelValues: map[string]any{}, ChannelVersions: map[string]Version{},
	}
	for channel, change := range h.changed {
		if change.stored && h.writesDelta(channel) {
			anchor.ChannelValues[channel], anchor.ChannelVersions[channel] = change.value, change.version
		}
	}
	if h.base.CheckpointID != "" && len(anchor.ChannelValues) == 0 {
		return h.base, nil
	}
	return saver.Put(ctx, h.base, anchor, Metadata{"step": -2}, anchor.ChannelVersions)
}

// deltaBatches have the IDs and paths that LangGraph gives such writes. The IDs are made up, so that no task looks done if
// the head is not saved. The tasks of the base keep their paths; those of later supersteps come after all others, in the
// order of the supersteps, whether a saver orders by path or by ID.
func (h *head) deltaBatches() []batch {
	var batches []batch
	for _, d := range h.deltas {
		b := batch{taskPath: d.taskPath, writes: d.writes}
		parts := idParts(d.taskID)
		if d.ofBase {
			b.taskID = fmt.Sprintf("%08d-%s", d.step, strings.Join(parts[1:], "-"))
			if b.taskID == nullTaskID {
				b.taskID = nullTaskID[:len(nullTaskID)-1] + "1"
			}
		} else {
			b.taskID = fmt.Sprintf("ffffffff-%04x-%04x-%s-%s", d.step>>16, d.step&0xffff, parts[3], parts[4])
			b.taskPath = fmt.Sprintf("~~%010d%s", d.step, d.taskPath)
		}
		same := func(o batch) bool { return o.taskID == b.taskID && o.taskPath == b.taskPath }
		if i := slices.IndexFunc(batches, same); i >= 0 {
			batches[i].writes = slices.Concat(batches[i].writes, b.writes)
		} else {
			batches = append(batches, b)
		}
	}
	return batches
}

// idParts are the groups of a UUID, or of one derived from an ID that is none.
func idParts(id string) []string {
	parsed, err := uuid.Parse(id)
	if err != nil {
		parsed = uuid.NewSHA1(uuid.Nil, []byte(id))
	}
	return strings.Split(parsed.String(), "-")
}
