package checkpoint

import (
	"time"
)

// FormatVersion is the version of the checkpoint format that current LangGraph runtimes write, and that a Checkpoint with
// V 0 is saved as.
const FormatVersion = 4

// Config names a checkpoint, or the place where one is to be put: what LangGraph keeps under "configurable".
type Config struct {
	// ThreadID is the conversation. It may not be empty, except in [Saver.List], where empty means all threads.
	ThreadID string
	// Namespace is empty for the root graph, "node:task" for a subgraph; nested ones are joined with "|".
	Namespace string
	// CheckpointID is one checkpoint. In [Saver.Get] empty means the newest; in [Saver.Put] it is the parent, and empty
	// means there is none.
	CheckpointID string
}

// Checkpoint is the state of a thread after one superstep.
type Checkpoint struct {
	// V is the version of this format; 0 is saved as FormatVersion.
	V int
	// ID identifies the checkpoint in its thread and namespace. IDs sort by time, as text: see NewID.
	ID string
	// TS is when the checkpoint was made, in ISO 8601, as the runtime wrote it.
	TS string
	// ChannelValues are the values of the channels that have one.
	ChannelValues map[string]any
	// ChannelVersions are the versions of all channels ever written.
	ChannelVersions map[string]Version
	// VersionsSeen says, for each node, which version of each channel it last ran with.
	VersionsSeen map[string]map[string]Version
	// UpdatedChannels are the channels that the superstep changed; nil means not recorded.
	UpdatedChannels []string
	// Extra are fields this package does not know, such as those of older formats; they survive a round trip.
	Extra map[string]any
}

// Write is what one task wrote to one channel.
type Write struct {
	TaskID string
	// TaskPath is where the task stood in its superstep. Writes of one checkpoint apply in the order of task path, task
	// ID and index.
	TaskPath string
	Channel  string
	// Index is the position among the task's writes, or the fixed negative one of a reserved channel. A saver assigns
	// it: it is read, and ignored when writing.
	Index int
	Value any
}

// Channels with a meaning of their own. A task has at most one write of each reserved one (ChannelError to
// ChannelResume), and writing it again replaces it.
const (
	ChannelError     = "__error__"
	ChannelScheduled = "__scheduled__"
	ChannelInterrupt = "__interrupt__"
	ChannelResume    = "__resume__"
	// ChannelTasks holds the packets that tasks send to nodes.
	ChannelTasks = "__pregel_tasks"
	// ChannelStart holds the input of a run until its first superstep.
	ChannelStart = "__start__"
)

// Tuple is a checkpoint as it was saved, with what belongs to it.
type Tuple struct {
	Config     Config
	Checkpoint *Checkpoint
	Metadata   Metadata
	// Parent is the checkpoint this one continued from; nil for the first of a thread.
	Parent *Config
	// PendingWrites are the writes of the tasks that started from this checkpoint, in the order in which they apply.
	PendingWrites []Write
	// CreatedAt is when the row was first saved, by the clock of the database.
	CreatedAt time.Time
}

// Metadata is what a runtime notes about a checkpoint. Every key survives. NUL characters, which a database cannot keep
// in JSON, are removed from keys and strings when it is saved.
type Metadata map[string]any

// Values of [Metadata.Source].
const (
	SourceInput  = "input"
	SourceLoop   = "loop"
	SourceUpdate = "update"
	SourceFork   = "fork"
)

// Source says how the checkpoint came about: input, loop, update or fork; empty if it is not noted.
func (m Metadata) Source() string { return m.text("source") }

// RunID is the run that made the checkpoint; empty if it is not noted.
func (m Metadata) RunID() string { return m.text("run_id") }

// Step is the number of the superstep: -1 for the input, 0 and up after it; false if it is not noted.
func (m Metadata) Step() (int, bool) {
	switch v := m["step"].(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		return int(v), true
	}
	return 0, false
}

// Parents are, for a checkpoint of a subgraph, the checkpoints of the graphs around it, by namespace.
func (m Metadata) Parents() map[string]string {
	parents := map[string]string{}
	switch v := m["parents"].(type) {
	case map[string]any:
		for namespace, id := range v {
			if text, ok := id.(string); ok {
				parents[namespace] = text
			}
		}
	case map[string]string:
		for namespace, id := range v {
			parents[namespace] = id
		}
	}
	return parents
}

func (m Metadata) text(key string) string {
	s, _ := m[key].(string)
	return s
}
