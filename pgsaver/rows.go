package pgsaver

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// lentRow is a row of a checkpoint in memory of the driver, which takes it back at the next row. One serves row after row: its
// arrays stay allocated, and texts that come again are not copied again.
type lentRow struct {
	threadID, checkpointNS, checkpointID     repeatedText
	parentCheckpointID, checkpoint, metadata pgtype.DriverBytes
	createdAt                                time.Time
	contents                                 contents

	shape        *rowShape
	destinations []any
	names        names
}

// contents are what a checkpoint is read with, in memory of the driver.
type contents interface {
	columns(r *lentRow) []column
	length() (values, writes, sends int)
	value(i int) (channel, tag, blob []byte)
	write(i int) lentWrite
	send(i int) (tag, blob []byte)
}

type lentWrite struct {
	taskID, taskPath, channel, tag, blob []byte
	idx                                  int32
}

type column struct {
	name        string
	destination any
}

// columns are what is selected, and where it goes.
func (r *lentRow) columns() []column {
	return append([]column{
		{"checkpoint_id", &r.checkpointID},
		{"parent_checkpoint_id", &r.parentCheckpointID},
		{"checkpoint", &r.checkpoint},
		{"metadata", &r.metadata},
		{"created_at", &r.createdAt},
	}, r.contents.columns(r)...)
}

// rowShape is what rows of a function look like.
type rowShape struct {
	selectList string
	pool       sync.Pool
}

var (
	// parallelRows are those of get_checkpoint and list_checkpoints.
	parallelRows = newRowShape(func() contents { return &parallelContents{} })
	// packedRows are those of checkpoint_tuple.
	packedRows = newRowShape(func() contents { return &packedContents{} })
)

func newRowShape(newContents func() contents) *rowShape {
	s := &rowShape{}
	s.pool.New = func() any {
		r := &lentRow{contents: newContents(), shape: s, names: names{}}
		for _, c := range r.columns() {
			r.destinations = append(r.destinations, c.destination)
		}
		return r
	}
	var names []string
	for _, c := range s.lend("", "").columns() {
		names = append(names, c.name)
	}
	s.selectList = strings.Join(names, ", ")
	return s
}

// lend gives a row of checkpoints in a thread's namespace, which it has to be told where the function does not say it.
func (s *rowShape) lend(threadID, checkpointNS string) *lentRow {
	r := s.pool.Get().(*lentRow)
	r.threadID.text, r.checkpointNS.text = threadID, checkpointNS
	return r
}

// release lets go of the driver's memory too.
func (r *lentRow) release() {
	r.parentCheckpointID, r.checkpoint, r.metadata = nil, nil, nil
	for _, destination := range r.destinations {
		if array, ok := destination.(*lentArray); ok {
			clear((*array)[:cap(*array)])
		}
	}
	r.shape.pool.Put(r)
}

// read copies what a tuple needs: each blob once, all texts of the checkpoint's JSON at once.
func (r *lentRow) read(rows pgx.CollectableRow) (*tupleRow, error) {
	if err := rows.Scan(r.destinations...); err != nil {
		return nil, err
	}
	values, writes, sends := r.contents.length()
	row := &tupleRow{
		config: checkpoint.Config{
			ThreadID: r.threadID.text, Namespace: r.checkpointNS.text, CheckpointID: r.checkpointID.text,
		},
		hasParent: r.parentCheckpointID != nil, parent: string(r.parentCheckpointID),
		checkpoint: &checkpoint.Checkpoint{},
		createdAt:  r.createdAt,
		values:     make([]namedValue, values),
		writes:     make([]writeRow, writes),
		sends:      make([]serde.Typed, sends),
	}
	row.jsonErr = row.checkpoint.UnmarshalJSON(r.checkpoint)
	if row.jsonErr == nil {
		row.jsonErr = row.metadata.UnmarshalJSON(r.metadata)
	}
	for i := range row.values {
		channel, tag, blob := r.contents.value(i)
		row.values[i] = namedValue{r.names.of(channel), r.typed(tag, blob)}
	}
	taskID := ""
	for i := range row.writes {
		w := r.contents.write(i)
		if string(w.taskID) != taskID {
			taskID = string(w.taskID)
		}
		row.writes[i] = writeRow{
			taskID: taskID, taskPath: r.names.of(w.taskPath), idx: w.idx,
			namedValue: namedValue{r.names.of(w.channel), r.typed(w.tag, w.blob)},
		}
	}
	for i := range row.sends {
		row.sends[i] = r.typed(r.contents.send(i))
	}
	return row, nil
}

func (r *lentRow) typed(tag, blob []byte) serde.Typed {
	return serde.Typed{Type: r.names.of(tag), Data: bytes.Clone(blob)}
}

// parallelContents are an array for each property, beside the thread and the namespace.
type parallelContents struct {
	valueChannels, valueTypes, valueBlobs lentArray
	writeTaskIDs, writeTaskPaths          lentArray
	writeIdxs                             pgtype.FlatArray[int32]
	writeChannels, writeTypes, writeBlobs lentArray
	sendTypes, sendBlobs                  lentArray
}

func (c *parallelContents) columns(r *lentRow) []column {
	return []column{
		{"thread_id", &r.threadID},
		{"checkpoint_ns", &r.checkpointNS},
		{"value_channels", &c.valueChannels},
		{"value_types", &c.valueTypes},
		{"value_blobs", &c.valueBlobs},
		{"write_task_ids", &c.writeTaskIDs},
		{"write_task_paths", &c.writeTaskPaths},
		{"write_idxs", &c.writeIdxs},
		{"write_channels", &c.writeChannels},
		{"write_types", &c.writeTypes},
		{"write_blobs", &c.writeBlobs},
		{"send_types", &c.sendTypes},
		{"send_blobs", &c.sendBlobs},
	}
}

func (c *parallelContents) length() (values, writes, sends int) {
	return len(c.valueBlobs), len(c.writeBlobs), len(c.sendBlobs)
}

func (c *parallelContents) value(i int) (channel, tag, blob []byte) {
	return c.valueChannels[i], c.valueTypes[i], c.valueBlobs[i]
}

func (c *parallelContents) write(i int) lentWrite {
	return lentWrite{
		taskID: c.writeTaskIDs[i], taskPath: c.writeTaskPaths[i], idx: c.writeIdxs[i],
		channel: c.writeChannels[i], tag: c.writeTypes[i], blob: c.writeBlobs[i],
	}
}

func (c *parallelContents) send(i int) (tag, blob []byte) { return c.sendTypes[i], c.sendBlobs[i] }

// packedContents are an array of arrays for each kind. Here the elements follow each other.
type packedContents struct{ values, writes, sends lentArray }

// How many elements are one value, one write, one packet.
const (
	packedValue = 3
	packedWrite = 6
	packedSend  = 2
)

func (c *packedContents) columns(*lentRow) []column {
	return []column{
		{"channel_values", &c.values},
		{"pending_writes", &c.writes},
		{"pending_sends", &c.sends},
	}
}

func (c *packedContents) length() (values, writes, sends int) {
	return len(c.values) / packedValue, len(c.writes) / packedWrite, len(c.sends) / packedSend
}

func (c *packedContents) value(i int) (channel, tag, blob []byte) {
	v := c.values[i*packedValue:]
	return v[0], v[1], v[2]
}

func (c *packedContents) write(i int) lentWrite {
	w := c.writes[i*packedWrite:]
	return lentWrite{
		taskID: w[0], taskPath: w[1], idx: int32(binary.BigEndian.Uint32(w[2])), //nolint:gosec // two's complement, as int4send writes it
		channel: w[3], tag: w[4], blob: w[5],
	}
}

func (c *packedContents) send(i int) (tag, blob []byte) {
	s := c.sends[i*packedSend:]
	return s[0], s[1]
}

// repeatedText is a column of texts, or of nulls, of which one is often that of the row before: they share their memory.
type repeatedText struct {
	text  string
	valid bool
}

// ScanBytes implements [pgtype.BytesScanner].
func (t *repeatedText) ScanBytes(text []byte) error {
	t.valid = text != nil
	if t.text != string(text) {
		t.text = string(text)
	}
	return nil
}

// lentArray is a text[] or bytea[].
type lentArray []pgtype.DriverBytes

// SetDimensions implements [pgtype.ArraySetter].
func (a *lentArray) SetDimensions(dimensions []pgtype.ArrayDimension) error {
	length := 0
	if len(dimensions) > 0 {
		length = 1
	}
	for _, d := range dimensions {
		length *= int(d.Length)
	}
	length = max(length, 0)
	if length > cap(*a) {
		*a = make(lentArray, length)
	}
	*a = (*a)[:length]
	return nil
}

// ScanIndex implements [pgtype.ArraySetter].
func (a *lentArray) ScanIndex(i int) any { return &(*a)[i] }

// ScanIndexType implements [pgtype.ArraySetter].
func (*lentArray) ScanIndexType() any { return plannedElement }

// plannedElement is only looked at, to plan how elements are scanned.
var plannedElement = new(pgtype.DriverBytes)

// names are texts of which there are few: channels, types, paths of tasks.
type names map[string]string

// mostNames and longestName bound what names keep.
const (
	mostNames   = 256
	longestName = 128
)

func (n names) of(text []byte) string {
	if name, ok := n[string(text)]; ok {
		return name
	}
	name := string(text)
	if len(name) <= longestName {
		if len(n) == mostNames {
			clear(n)
		}
		n[name] = name
	}
	return name
}
