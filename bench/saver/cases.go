package main

import (
	"fmt"
	"strings"
)

// sizes are what a run takes its cases from.
type sizes struct {
	Lengths     []int `json:"thread_lengths"`       // of threads with small states
	Databases   []int `json:"database_checkpoints"` // the sizes at which the database is measured; the last is that of all else
	LongDelta   int   `json:"long_delta_steps"`
	Items       int   `json:"store_items"`
	LargeLength int   `json:"thread_length_20k"`
}

var (
	fullSizes  = sizes{Lengths: []int{10, 100, 1000, 10_000}, Databases: []int{20_000, 60_000, 200_000}, LongDelta: 10_000, Items: 1000, LargeLength: 100}
	quickSizes = sizes{Lengths: []int{10, 100}, Databases: []int{2000, 4000}, LongDelta: 200, Items: 100, LargeLength: 10}
)

// The threads of the other payloads, and the delta threads.
const (
	hugeLength  = 3
	deltaLength = 1080
	deltaSteps  = 20
)

// middle is the length of the longest thread of at most 1,000 checkpoints.
func (s sizes) middle() int {
	length := s.Lengths[0]
	for _, l := range s.Lengths {
		if l <= 1000 {
			length = l
		}
	}
	return length
}

// plainThreads are those that every side has.
func (s sizes) plainThreads() []thread {
	var threads []thread
	for _, length := range s.Lengths {
		threads = append(threads, plainThread(small, length))
	}
	return append(threads, plainThread(twentyKB, s.LargeLength), plainThread(oneMB, hugeLength))
}

// ownThreads are those that only the sides in this process have.
func (s sizes) ownThreads() []thread {
	threads := []thread{deltaThread(deltaLength, deltaSteps), deltaThread(s.LongDelta+1, s.LongDelta)}
	return append(threads, plainThread(smallBlobs, 10), plainThread(smallBlobs, s.middle()))
}

// The groups of cases, as --case names them and the report orders them.
const (
	groupDatabase  = "database size"
	groupPut       = "put"
	groupWrites    = "put_writes"
	groupGet       = "get"
	groupList      = "list"
	groupDelta     = "delta_history"
	groupLineage   = "lineage and retention"
	groupStore     = "store"
	groupAsync     = "synchronous_commit off"
	storeThread    = "items"
	maxConcurrency = maxConnections
)

// groupMeaning says what the cases of a group do.
var groupMeaning = map[string]string{
	groupDatabase: "The same put and get while the database grows, on one connection.",
	groupPut: "One more checkpoint of a thread, with its changed channels. Strings stay in the checkpoint's row (\"inline\"); lists and messages " +
		"stand in rows of their own. synchronous_commit is on here and below.",
	groupWrites: "The pending writes of one task.",
	groupGet:    "One checkpoint with all its values and pending writes, from threads of several lengths.",
	groupList:   "The newest checkpoints of a thread, with all their values.",
	groupDelta:  "What a delta channel wrote since its last snapshot. The floor reads the same rows by two range scans of an index.",
	groupLineage: "A fork branches off the middle of a thread; copy_thread copies a thread; prune keeps its newest checkpoint; sweep removes " +
		"threads whose time is over.",
	groupStore: "Items of the long-term memory: one put, one read, the nearest ten by vector, and a batch of gets and puts.",
	groupAsync: "Puts that do not wait for the disk.",
}

func isStore(op operation) bool { return strings.HasPrefix(op.Name, "store_") }

// databaseCases are measured at each size of the database.
func (s sizes) databaseCases() []*benchmarkCase {
	length := s.middle()
	return []*benchmarkCase{
		{Group: groupDatabase, goOnly: true, Operation: operation{Name: put, Payload: small, Connections: 1}},
		{Group: groupDatabase, goOnly: true, Operation: operation{
			Name: get, Payload: small, Thread: threadName(small, length), Checkpoints: length, Connections: 1,
		}},
	}
}

// cases are all others that need synchronous_commit on. Not every combination is measured: each case changes one thing.
func (s sizes) cases() []*benchmarkCase {
	var all []*benchmarkCase
	add := func(group string, c benchmarkCase, op operation) {
		c.Group, c.Operation = group, op
		all = append(all, &c)
	}
	// Where one connection waits for the disk, a few rounds decide by luck.
	for _, connections := range []int{1, maxConcurrency} {
		alone := connections == 1
		add(groupPut, benchmarkCase{allModes: true, manyRounds: alone}, operation{Name: put, Payload: small, Connections: connections})
		add(groupPut, benchmarkCase{goOnly: true, manyRounds: alone}, operation{Name: put, Payload: smallBlobs, Connections: connections})
		add(groupPut, benchmarkCase{allModes: true, manyRounds: alone}, operation{Name: put, Payload: twentyKB, Connections: connections})
	}
	add(groupPut, benchmarkCase{manyRounds: true}, operation{Name: put, Payload: oneMB, Connections: 1})
	add(groupWrites, benchmarkCase{}, operation{Name: putWrites, Payload: small, Connections: 1, Writes: 1})
	add(groupWrites, benchmarkCase{manyRounds: true}, operation{Name: putWrites, Payload: small, Connections: 1, Writes: 50})
	add(groupWrites, benchmarkCase{}, operation{Name: putWrites, Payload: small, Connections: maxConcurrency, Writes: 50})
	read := func(name, payload string, length, connections, limit int) operation {
		return operation{Name: name, Payload: payload, Thread: threadName(payload, length), Checkpoints: length, Connections: connections, Limit: limit}
	}
	middle := s.middle()
	for _, length := range s.Lengths {
		add(groupGet, benchmarkCase{allModes: length == middle, manyRounds: true}, read(get, small, length, 1, 0))
	}
	add(groupGet, benchmarkCase{}, read(get, small, middle, maxConcurrency, 0))
	add(groupGet, benchmarkCase{goOnly: true}, read(get, smallBlobs, middle, 1, 0))
	add(groupGet, benchmarkCase{allModes: true}, read(get, twentyKB, s.LargeLength, 1, 0))
	add(groupGet, benchmarkCase{allModes: true}, read(get, twentyKB, s.LargeLength, maxConcurrency, 0))
	add(groupGet, benchmarkCase{}, read(get, oneMB, hugeLength, 1, 0))
	add(groupGet, benchmarkCase{}, read(getByID, small, middle, 1, 0))
	for _, length := range s.Lengths {
		add(groupList, benchmarkCase{}, read(list, small, length, 1, 10))
		if length > 100 {
			add(groupList, benchmarkCase{}, read(list, small, length, 1, 100))
		}
	}
	for _, d := range []thread{deltaThread(deltaLength, deltaSteps), deltaThread(s.LongDelta+1, s.LongDelta)} {
		add(groupDelta, benchmarkCase{goOnly: true},
			operation{Name: deltaHistory, Payload: small, Thread: d.name, Checkpoints: d.checkpoints, Connections: 1, Limit: d.steps})
	}
	add(groupLineage, benchmarkCase{goOnly: true}, read(fork, small, s.Lengths[0], 1, 0))
	add(groupLineage, benchmarkCase{goOnly: true}, read(fork, small, s.Lengths[len(s.Lengths)-1], 1, 0))
	add(groupLineage, benchmarkCase{goOnly: true, count: 2}, read(copyThread, smallBlobs, middle, 1, 0))
	add(groupLineage, benchmarkCase{goOnly: true, count: 2}, read(prune, smallBlobs, middle, 1, 0))
	add(groupLineage, benchmarkCase{goOnly: true, count: 1}, read(sweep, smallBlobs, 10, 1, 0))
	item := operation{Payload: small, Thread: storeThread, Checkpoints: s.Items, Connections: 1, Limit: searchLimit, Writes: 20}
	for _, name := range []string{storePut, storeGet, storeSearch, storeBatch} {
		item.Name = name
		add(groupStore, benchmarkCase{}, item)
	}
	return all
}

// asyncCases are measured with synchronous_commit off.
func (s sizes) asyncCases() []*benchmarkCase {
	return []*benchmarkCase{
		{Group: groupAsync, Operation: operation{Name: put, Payload: small, Connections: 1}},
		{Group: groupAsync, Operation: operation{Name: put, Payload: small, Connections: maxConcurrency}},
		{Group: groupAsync, goOnly: true, Operation: operation{Name: put, Payload: smallBlobs, Connections: 1}},
		{Group: groupAsync, Operation: operation{Name: put, Payload: twentyKB, Connections: 1}},
		{Group: groupAsync, Operation: operation{Name: putWrites, Payload: small, Connections: 1, Writes: 50}},
	}
}

// title says what is measured.
func (c *benchmarkCase) title() string {
	op := c.Operation
	var parts []string
	switch op.Name {
	case putWrites:
		parts = append(parts, fmt.Sprintf("put_writes of %d", op.Writes))
	case list:
		parts = append(parts, fmt.Sprintf("list of %d", op.Limit), fmt.Sprintf("of %d", op.Checkpoints))
	case deltaHistory:
		parts = append(parts, fmt.Sprintf("delta history of %d steps", op.Limit), fmt.Sprintf("of %d", op.Checkpoints))
	case get:
		parts = append(parts, "get latest", payloadTitle(op.Payload), fmt.Sprintf("of %d", op.Checkpoints))
	case getByID:
		parts = append(parts, "get by id", payloadTitle(op.Payload), fmt.Sprintf("of %d", op.Checkpoints))
	case fork, copyThread, prune:
		parts = append(parts, op.Name, payloadTitle(op.Payload), fmt.Sprintf("of %d", op.Checkpoints))
	case sweep:
		parts = append(parts, fmt.Sprintf("sweep of %d threads of %d", sweptThreads, op.Checkpoints))
	case storeBatch:
		parts = append(parts, fmt.Sprintf("store_batch of %d", op.Writes))
	case storeSearch:
		parts = append(parts, fmt.Sprintf("store_search of %d items", op.Checkpoints))
	case storePut, storeGet:
		parts = append(parts, op.Name)
	default:
		parts = append(parts, op.Name, payloadTitle(op.Payload))
	}
	if op.Connections > 1 {
		parts = append(parts, fmt.Sprintf("%d connections", op.Connections))
	}
	return strings.Join(parts, ", ")
}
