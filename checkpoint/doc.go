// Package checkpoint is the vocabulary of durable agent state: checkpoints, the writes of tasks, and the interface of
// whatever saves them. The names are LangGraph's where a LangGraph user would look for them.
//
// A thread is a conversation. After every superstep its runtime puts a [Checkpoint]: the version of every channel, the
// values that changed, and the checkpoint it continued from. Two checkpoints with one parent are a fork; nothing is ever
// overwritten. Between two checkpoints, each task's [Write]s are saved as soon as the task is done, so that a superstep
// that fails half-way need not repeat what succeeded.
//
// The package knows no database. Package pgsaver implements [Saver] on Postgres; package checkpointtest checks any
// implementation.
package checkpoint
