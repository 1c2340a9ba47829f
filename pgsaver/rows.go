package pgsaver

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// lentRow is a row of get_checkpoint and list_checkpoints in memory of the driver, which takes it back at the next row. One serves
// row after row: its arrays stay allocated, and texts that come again are not copied again.
type lentRow struct {
	threadID, checkpointNS, checkpointID     repeatedText
	parentCheckpointID, checkpoint, metadata pgtype.DriverBytes
	createdAt                                time.Time
	valueChannels, valueTypes, valueBlobs    lentArray
	writeTaskIDs, writeTaskPaths             lentArray
	writeIdxs                                pgtype.FlatArray[int32]
	writeChannels, writeTypes, writeBlobs    lentArray
	sendTypes, sendBlobs                     lentArray

	destinations []any
	names        names
}

type column struct {
	name        string
	destination any
}

// columns are what is selected, and where it goes.
func (r *lentRow) columns() []column {
	return []column{
		{"thread_id", &r.threadID},
		{"checkpoint_ns", &r.checkpointNS},
		{"checkpoint_id", &r.checkpointID},
		{"parent_checkpoint_id", &r.parentCheckpointID},
		{"checkpoint", &r.checkpoint},
		{"metadata", &r.metadata},
		{"created_at", &r.createdAt},
		{"value_channels", &r.valueChannels},
		{"value_types", &r.valueTypes},
		{"value_blobs", &r.valueBlobs},
		{"write_task_ids", &r.writeTaskIDs},
		{"write_task_paths", &r.writeTaskPaths},
		{"write_idxs", &r.writeIdxs},
		{"write_channels", &r.writeChannels},
		{"write_types", &r.writeTypes},
		{"write_blobs", &r.writeBlobs},
		{"send_types", &r.sendTypes},
		{"send_blobs", &r.sendBlobs},
	}
}

// tupleColumns is the select list of a lentRow.
var tupleColumns = func() string {
	var list []string
	for _, c := range new(lentRow).columns() {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}()

var lentRows = sync.Pool{New: func() any {
	r := &lentRow{names: names{}}
	for _, c := range r.columns() {
		r.destinations = append(r.destinations, c.destination)
	}
	return r
}}

func newLentRow() *lentRow { return lentRows.Get().(*lentRow) }

// release lets go of the driver's memory too.
func (r *lentRow) release() {
	r.parentCheckpointID, r.checkpoint, r.metadata = nil, nil, nil
	for _, destination := range r.destinations {
		if array, ok := destination.(*lentArray); ok {
			clear((*array)[:cap(*array)])
		}
	}
	lentRows.Put(r)
}

// read copies what a tuple needs: each blob once, all texts of the checkpoint's JSON at once.
func (r *lentRow) read(rows pgx.CollectableRow) (*tupleRow, error) {
	if err := rows.Scan(r.destinations...); err != nil {
		return nil, err
	}
	row := &tupleRow{
		config: checkpoint.Config{
			ThreadID: r.threadID.text, Namespace: r.checkpointNS.text, CheckpointID: r.checkpointID.text,
		},
		hasParent: r.parentCheckpointID != nil, parent: string(r.parentCheckpointID),
		checkpoint: &checkpoint.Checkpoint{},
		createdAt:  r.createdAt,
		values:     make([]namedValue, len(r.valueBlobs)),
		writes:     make([]writeRow, len(r.writeBlobs)),
		sends:      make([]serde.Typed, len(r.sendBlobs)),
	}
	row.jsonErr = row.checkpoint.UnmarshalJSON(r.checkpoint)
	if row.jsonErr == nil {
		row.jsonErr = row.metadata.UnmarshalJSON(r.metadata)
	}
	for i := range row.values {
		row.values[i] = namedValue{r.names.of(r.valueChannels[i]), r.typed(r.valueTypes[i], r.valueBlobs[i])}
	}
	taskID := ""
	for i := range row.writes {
		if id := r.writeTaskIDs[i]; string(id) != taskID {
			taskID = string(id)
		}
		row.writes[i] = writeRow{
			taskID: taskID, taskPath: r.names.of(r.writeTaskPaths[i]), idx: r.writeIdxs[i],
			namedValue: namedValue{r.names.of(r.writeChannels[i]), r.typed(r.writeTypes[i], r.writeBlobs[i])},
		}
	}
	for i := range row.sends {
		row.sends[i] = r.typed(r.sendTypes[i], r.sendBlobs[i])
	}
	return row, nil
}

func (r *lentRow) typed(tag, blob []byte) serde.Typed {
	return serde.Typed{Type: r.names.of(tag), Data: bytes.Clone(blob)}
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
