package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

// UpdateOptions say how [UpdateState] takes an update.
type UpdateOptions struct {
	// AsNode is the node that the update counts as the output of. Empty means the one that ran last, NodeStart on a new
	// thread; ErrInvalidArgument where several ran at once. NodeInput makes the values the input of the next run. NodeEnd,
	// with nil values, drops the tasks that wait and keeps what finished tasks have written.
	AsNode string
	// Defaults are the values of channels nothing was written to: for those with a reducer the empty value of their type.
	Defaults map[string]any
	// DeltaChannels are delta channels beside those that are known to be by what is saved. It matters for the first write
	// to one: without it, the value is saved whole, which is right as well.
	DeltaChannels []string
	// Metadata is added to source "update", the step and the parents, and stands above them.
	Metadata Metadata
	// Next are the nodes that AsNode's edges and branches lead to: they run next, instead of those that would have. It is
	// for the caller to say, because what a checkpoint saves does not tell the edges of a graph.
	Next []string
	// Reducers are those of the graph's channels; a channel that is not named has none and its value is replaced. Name
	// all of them: an update of a delta channel that has none is refused, and of any other it would replace the value.
	Reducers map[string]Reducer
	// Sends are packets that AsNode sends to nodes, which run next with them.
	Sends []serde.Send
	// SnapshotFrequency is after how many updates a delta channel is saved whole; for channels that are not named it is
	// 100, as in LangGraph.
	SnapshotFrequency map[string]int
	// TaskID is the task that the writes are saved under. Empty means the waiting task of AsNode, if there is one.
	TaskID string
}

const (
	defaultSnapshotFrequency = 100
	// maxSuperstepsSinceSnapshot bounds how far a delta channel that nobody writes has to be replayed, as in LangGraph.
	maxSuperstepsSinceSnapshot = 5000
	// branchStride is how far, at least, the integer versions of a branch are above all others, so that the branch it
	// leaves can go on for as many before the two meet; branchSpread is how much farther they may be. A JavaScript number
	// has room for tens of thousands of branches.
	branchStride = 1_000_000
	branchSpread = 1 << 38
)

// UpdateState changes the state of a thread as if a node had written the values, and returns the config of the new
// checkpoint: LangGraph's update_state. Config names the checkpoint to continue from; without a checkpoint ID that is the
// newest, and a thread that does not exist begins. From a checkpoint of the past the update makes a branch, which becomes
// the newest; nothing is overwritten.
//
// The values go through the reducers, an Overwrite around them. The new checkpoint has source "update" and the next step. As
// after any superstep the nodes that waited no longer do; those that run next are options.Next and options.Sends. The writes
// are saved with the checkpoint that the update continues from, as those of its next task. A delta channel is rebuilt from
// these; where the checkpoint has other children that would read them too, and where an update overwrites, the channel is
// saved whole instead.
//
// Without the graph some things have to be said: the nodes that follow, in Next; to arrive at a join, write its node's name
// to the join's channel ("join:<a>+<b>:<node>"); to trigger a deferred node, write []any{nil, false} to "branch:to:<node>".
// Other ephemeral channels than these keep their values. Whatever the update is, ErrInvalidArgument means that nothing was
// saved.
func UpdateState(ctx context.Context, saver Saver, config Config, values map[string]any, options UpdateOptions) (Config, error) {
	u := &update{saver: saver, config: config, options: options, values: values, forced: map[string]bool{}}
	if err := u.open(ctx); err != nil {
		return Config{}, err
	}
	if err := u.prepare(ctx); err != nil {
		return Config{}, fmt.Errorf("updating checkpoint %s of thread %s: %w", u.base.Config.CheckpointID, config.ThreadID, err)
	}
	return u.save(ctx)
}

// update is one call of UpdateState.
type update struct {
	saver   Saver
	config  Config
	options UpdateOptions
	values  map[string]any

	// base is the checkpoint that the update continues from; one that is not saved, and is new, for a new thread.
	base  *Tuple
	fresh bool
	// newest is the ID of the newest checkpoint; superseded says that it is not the base.
	newest     string
	superseded bool
	step       int

	state *channels
	task  taskWrites
	// tasks are those whose writes the new checkpoint has: only task, or those that are done where all are dropped.
	tasks    []taskWrites
	counters map[string]deltaCounters
	// forced are the delta channels to save whole whatever their counters say.
	forced map[string]bool
}

// taskWrites are the writes of a task with what triggered it.
type taskWrites struct {
	id, path, node string
	triggers       []string
	writes         []Write
}

func (u *update) open(ctx context.Context) error {
	if u.config.ThreadID == "" {
		return fmt.Errorf("%w: an update needs a thread", ErrInvalidArgument)
	}
	for channel, frequency := range u.options.SnapshotFrequency {
		if frequency < 1 {
			return fmt.Errorf("%w: snapshot frequency %d of channel %q is not positive", ErrInvalidArgument, frequency, channel)
		}
	}
	base, err := u.saver.Get(ctx, u.config)
	if errors.Is(err, ErrNotFound) && u.config.CheckpointID == "" {
		base, u.fresh = newThread(u.config), true
	} else if err != nil {
		return err
	}
	u.base, u.newest, u.step = base, base.Config.CheckpointID, -1
	if step, ok := base.Metadata.Step(); ok {
		u.step = step
	}
	if u.config.CheckpointID != "" {
		if u.newest, err = newestID(ctx, u.saver, u.config); err != nil {
			return err
		}
		u.superseded = u.newest != base.Config.CheckpointID
	}
	return u.checkFormat()
}

func newThread(config Config) *Tuple {
	config.CheckpointID = ""
	return &Tuple{Config: config, Checkpoint: &Checkpoint{V: FormatVersion, ID: NewID(-2)}}
}

// newestID is the ID of the newest checkpoint of a namespace; empty when there is none.
func newestID(ctx context.Context, saver Saver, config Config) (string, error) {
	config.CheckpointID = ""
	for tuple, err := range saver.List(ctx, config, ListOptions{Limit: 1, WithoutState: true}) {
		if err != nil {
			return "", err
		}
		return tuple.Config.CheckpointID, nil
	}
	return "", nil
}

// checkFormat refuses formats whose channels the runtime would have to migrate, which it does not do for a newer one.
func (u *update) checkFormat() error {
	cp := u.base.Checkpoint
	if cp.V >= 3 || cp.V == 0 {
		return nil
	}
	for _, channel := range sortedKeys(cp.ChannelVersions) {
		_, isNode := cp.VersionsSeen[channel]
		if channel != ChannelStart && isNode || strings.HasPrefix(channel, "start:") ||
			strings.HasPrefix(channel, "branch:") && strings.Count(channel, ":") == 3 {
			return fmt.Errorf("%w: checkpoint %s has format %d, whose channel %q only its runtime can carry over; run the thread once",
				ErrInvalidArgument, cp.ID, cp.V, channel)
		}
	}
	return nil
}

// prepare works out everything that can be wrong before anything is saved.
func (u *update) prepare(ctx context.Context) error {
	if err := u.plan(); err != nil {
		return err
	}
	if err := u.load(ctx); err != nil {
		return err
	}
	if err := u.apply(); err != nil {
		return err
	}
	u.snapshotDeltas()
	return nil
}

// plan says whose writes these are.
func (u *update) plan() error {
	if u.options.AsNode == NodeEnd {
		return u.planEnd()
	}
	node, err := u.node()
	if err != nil {
		return err
	}
	u.task = taskWrites{id: u.options.TaskID, node: node}
	if node == NodeInput {
		return u.planInput()
	}
	u.task.path = "~" + ChannelInterrupt + ", 0000000000"
	u.task.triggers = []string{ChannelInterrupt}
	u.task.writes = u.writes()
	if u.task.id == "" {
		u.task.id = u.waitingTask(node)
	}
	if u.task.id == "" {
		u.task.id = derivedTaskID(u.base.Checkpoint.ID, ChannelInterrupt)
	}
	u.tasks = []taskWrites{u.task}
	return nil
}

func (u *update) planInput() error {
	if len(u.values) == 0 {
		return fmt.Errorf("%w: an update as input needs values", ErrInvalidArgument)
	}
	if len(u.options.Next) > 0 || len(u.options.Sends) > 0 {
		return fmt.Errorf("%w: an update as input takes no Next and no Sends; the graph's start says where it goes", ErrInvalidArgument)
	}
	if u.task.id == "" {
		u.task.id = derivedTaskID(u.base.Checkpoint.ID, NodeInput)
	}
	u.task.writes = []Write{{Channel: ChannelStart, Value: u.values}}
	u.tasks = []taskWrites{u.task}
	return nil
}

func (u *update) planEnd() error {
	if u.values != nil || len(u.options.Next) > 0 || len(u.options.Sends) > 0 {
		return fmt.Errorf("%w: an update as %s drops the tasks that wait and takes no values, Next or Sends", ErrInvalidArgument, NodeEnd)
	}
	statuses := statusesOf(u.base.PendingWrites)
	for _, task := range tasksAfter(u.base, nil) {
		dropped := taskWrites{id: task.ID, path: task.Path, node: task.Name, triggers: task.triggers}
		if s := statuses[task.ID]; s != nil {
			dropped.writes = s.output
		}
		u.tasks = append(u.tasks, dropped)
	}
	return nil
}

func (u *update) node() (string, error) {
	if u.options.AsNode != "" {
		return u.options.AsNode, nil
	}
	node, ok := lastNode(u.base.Checkpoint.VersionsSeen)
	if !ok {
		return "", fmt.Errorf("%w: several nodes ran last; say in AsNode which of them the update counts as", ErrInvalidArgument)
	}
	return node, nil
}

// lastNode is the node that saw the newest version.
func lastNode(versionsSeen map[string]map[string]Version) (string, bool) {
	var newest Version
	last, unique := NodeStart, true
	seen := seenWithoutBumps(versionsSeen)
	for _, node := range sortedKeys(seen) {
		if node == ChannelInterrupt || node == NodeInput {
			continue
		}
		switch version := newestVersion(seen[node]); {
		case version.IsZero():
		case version.Compare(newest) > 0:
			newest, last, unique = version, node, true
		case version.Compare(newest) == 0:
			unique = false
		}
	}
	return last, unique
}

// waitingTask is the first task of a node that waits, whose result the update then is.
func (u *update) waitingTask(node string) string {
	if u.fresh {
		return ""
	}
	for _, task := range tasksAfter(u.base, nil) {
		if task.Name == node {
			return task.ID
		}
	}
	return ""
}

// derivedTaskID is a task ID that is the same for every update of one kind that continues from a checkpoint.
func derivedTaskID(checkpointID, kind string) string {
	namespace, err := uuid.Parse(checkpointID)
	if err != nil {
		return uuid.NewSHA1(uuid.Nil, []byte(checkpointID+kind)).String()
	}
	return uuid.NewSHA1(namespace, []byte(kind)).String()
}

// writes are those of the values, by channel, and those that trigger what runs next.
func (u *update) writes() []Write {
	var writes []Write
	for _, channel := range sortedKeys(u.values) {
		writes = append(writes, Write{Channel: channel, Value: withMessageIDs(u.values[channel])})
	}
	for _, packet := range u.options.Sends {
		writes = append(writes, Write{Channel: ChannelTasks, Value: packet})
	}
	for _, node := range u.options.Next {
		writes = append(writes, Write{Channel: prefixBranchTo + node})
	}
	return writes
}

// load reads the channels, and those of the delta channels whose values the update needs.
func (u *update) load(ctx context.Context) error {
	u.state = &channels{
		values: maps.Clone(orEmpty(u.base.Checkpoint.ChannelValues)), versions: maps.Clone(orEmpty(u.base.Checkpoint.ChannelVersions)),
		seen: cloneSeen(u.base.Checkpoint.VersionsSeen), reducers: u.options.Reducers, defaults: u.options.Defaults,
	}
	deltas := u.deltaChannels()
	u.force(deltas)
	u.count(deltas)
	floor, err := u.versionFloor(ctx)
	if err != nil {
		return err
	}
	u.state.floor = floor

	needed := u.needed(deltas)
	for channel := range needed {
		if u.options.Reducers[channel] == nil {
			return fmt.Errorf("%w: %q is a delta channel; give its reducer in Reducers", ErrInvalidArgument, channel)
		}
	}
	var missing []string
	for channel := range deltas {
		_, versioned := u.state.versions[channel]
		value, stored := u.state.values[channel]
		switch {
		case needed[channel] && stored:
			u.state.values[channel] = storedValue(value)
		case needed[channel] && versioned:
			missing = append(missing, channel)
		case !needed[channel]:
			delete(u.state.values, channel)
		}
	}
	slices.Sort(missing)
	rebuilt, err := rebuildDeltas(ctx, u.saver, u.base, missing, u.options.Reducers, u.options.Defaults)
	maps.Copy(u.state.values, rebuilt)
	u.state.deltas = deltas
	return err
}

// deltaChannels are the delta channels, as far as what is saved tells: those that metadata counts, those that have a
// snapshot, and those with a reducer that were written and have no value.
func (u *update) deltaChannels() map[string]bool {
	deltas := map[string]bool{}
	for channel := range countersOf(u.base.Metadata) {
		deltas[channel] = true
	}
	for channel, value := range u.base.Checkpoint.ChannelValues {
		if isDeltaSnapshot(value) {
			deltas[channel] = true
		}
	}
	for _, channels := range [][]string{unstored(u.base.Checkpoint, u.options.Reducers), u.options.DeltaChannels} {
		for _, channel := range channels {
			deltas[channel] = true
		}
	}
	// What is stored as it is needs no history, whatever kind of channel it is, and stays so.
	for channel := range deltas {
		if value, ok := u.base.Checkpoint.ChannelValues[channel]; ok && !isDeltaSnapshot(value) {
			delete(deltas, channel)
		}
	}
	return deltas
}

// force says which channels to save whole: those that tasks of the base have already written, for a child of it that is not
// this one; those whose writes cannot be saved with the base, as its other children would read them; and those that are
// overwritten. A channel that was never written before tasks of the base did may be a delta channel, too.
func (u *update) force(deltas map[string]bool) {
	for _, write := range u.base.PendingWrites {
		_, versioned := u.state.versions[write.Channel]
		reduced := u.options.Reducers[write.Channel] != nil
		if deltas[write.Channel] || reduced && !versioned && isState(write.Channel) {
			u.forced[write.Channel] = true
		}
	}
	for _, task := range u.tasks {
		for _, write := range task.writes {
			_, overwrites := overwriteOf(write.Value)
			if deltas[write.Channel] && (overwrites || u.superseded || u.fresh) {
				u.forced[write.Channel] = true
			}
		}
	}
}

// written are the channels that the update writes.
func (u *update) written() map[string]bool {
	written := map[string]bool{}
	for _, task := range u.tasks {
		for _, write := range task.writes {
			written[write.Channel] = true
		}
	}
	for _, write := range u.ownWrites() {
		written[write.Channel] = true
	}
	return written
}

// ownWrites are those that a run has made before its tasks, which count where the tasks are dropped.
func (u *update) ownWrites() []Write {
	var own []Write
	for _, write := range u.base.PendingWrites {
		if u.options.AsNode == NodeEnd && write.TaskID == nullTaskID {
			own = append(own, write)
		}
	}
	return own
}

func (u *update) count(deltas map[string]bool) {
	counted, written := countersOf(u.base.Metadata), u.written()
	u.counters = make(map[string]deltaCounters, len(deltas))
	for channel := range deltas {
		counters := counted[channel]
		counters.supersteps++
		if written[channel] {
			counters.updates++
		}
		u.counters[channel] = counters
	}
}

// due says whether a delta channel has gone so long without a snapshot that one is due.
func (u *update) due(channel string) bool {
	frequency := int64(defaultSnapshotFrequency)
	if given, ok := u.options.SnapshotFrequency[channel]; ok {
		frequency = int64(given)
	}
	counters := u.counters[channel]
	return counters.updates >= frequency || counters.supersteps >= maxSuperstepsSinceSnapshot
}

// needed are the delta channels whose values the update needs: to save them whole, and to see that the reducer takes what
// is written. A snapshot that is due can wait for somebody who knows the reducer.
func (u *update) needed(deltas map[string]bool) map[string]bool {
	needed, written := map[string]bool{}, u.written()
	for channel := range deltas {
		if written[channel] || u.forced[channel] || u.due(channel) && u.options.Reducers[channel] != nil {
			needed[channel] = true
		}
	}
	return needed
}

// versionFloor is a version above all that the thread has, for a branch whose versions are integers: counting on from the
// base, it would meet the versions of the branch that it leaves. Versions that are text are kept apart by their fractions.
func (u *update) versionFloor(ctx context.Context) (Version, error) {
	if !u.superseded || !newestVersion(u.base.Checkpoint.ChannelVersions).number {
		return Version{}, nil
	}
	highest, err := highestVersions(ctx, u.saver, u.config)
	if err != nil {
		return Version{}, err
	}
	return newestVersion(highest).stride(), nil
}

func (u *update) apply() error {
	if own := u.ownWrites(); len(own) > 0 {
		if err := u.state.apply([]taskWrites{{node: NodeInput, writes: own}}); err != nil {
			return err
		}
	}
	return u.state.apply(u.tasks)
}

// snapshotDeltas puts the channels that are saved whole into the state, and takes the other delta channels out.
func (u *update) snapshotDeltas() {
	bumped := map[string][2]Version{}
	for _, channel := range sortedKeys(u.state.deltas) {
		value, known := u.state.values[channel]
		delete(u.state.values, channel)
		old, versioned := u.state.versions[channel]
		if !u.forced[channel] && (!known || !versioned || !u.due(channel)) {
			continue
		}
		if value == nil {
			value = u.emptyValue(channel)
		}
		if old == u.base.Checkpoint.ChannelVersions[channel] {
			u.state.versions[channel] = u.state.after(old)
			bumped[channel] = [2]Version{old, u.state.versions[channel]}
		}
		u.state.values[channel] = serde.DeltaSnapshot{Value: value}
		u.counters[channel] = deltaCounters{}
	}
	for channel := range u.forced {
		if _, versioned := u.state.versions[channel]; !versioned {
			u.state.versions[channel] = u.state.after(Version{})
			bumped[channel] = [2]Version{{}, u.state.versions[channel]}
			u.state.values[channel] = u.emptyValue(channel)
		}
	}
	u.state.seen = markBumpsSeen(u.state.seen, bumped)
}

// emptyValue is what a channel with a reducer holds before anything is written to it: for Python never None.
func (u *update) emptyValue(channel string) any {
	if value, ok := u.options.Defaults[channel]; ok {
		return value
	}
	for _, write := range u.base.PendingWrites {
		if _, isMap := orderedOf(write.Value); isMap && write.Channel == channel {
			return ordered.New()
		}
	}
	return []any{}
}

func (u *update) save(ctx context.Context) (Config, error) {
	step := u.step + 1
	if u.options.AsNode == NodeInput && u.fresh {
		step = -1
	}
	cp := &Checkpoint{
		V: FormatVersion, ID: idAfter(u.newest, step), TS: timestamp(), ChannelValues: u.state.values,
		ChannelVersions: u.state.versions, VersionsSeen: u.state.seen,
	}
	newVersions := map[string]Version{}
	for channel, version := range cp.ChannelVersions {
		if version != u.base.Checkpoint.ChannelVersions[channel] {
			newVersions[channel] = version
		}
	}
	// First the writes: whoever sees the checkpoint can rebuild its delta channels.
	if !u.fresh && !u.superseded && len(u.task.writes) > 0 {
		if err := u.saver.PutWrites(ctx, u.base.Config, u.task.writes, u.task.id, u.task.path); err != nil {
			return Config{}, err
		}
	}
	return u.saver.Put(ctx, u.base.Config, cp, u.metadata(step), newVersions)
}

func (u *update) metadata(step int) Metadata {
	metadata := Metadata{"source": SourceUpdate, "step": step, "parents": map[string]any{}}
	if u.options.AsNode == NodeInput {
		metadata["source"] = SourceInput
	}
	if parents := u.base.Metadata["parents"]; parents != nil {
		metadata["parents"] = parents
	}
	counters := map[string]any{}
	for channel, c := range u.counters {
		if !u.fresh && c != (deltaCounters{}) {
			counters[channel] = []any{c.updates, c.supersteps}
		}
	}
	if len(counters) > 0 {
		metadata[deltaCountersKey] = counters
	}
	maps.Copy(metadata, u.options.Metadata)
	return metadata
}

func timestamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00") }

func cloneSeen(seen map[string]map[string]Version) map[string]map[string]Version {
	copied := make(map[string]map[string]Version, len(seen))
	for node, versions := range seen {
		copied[node] = maps.Clone(orEmpty(versions))
	}
	return copied
}
