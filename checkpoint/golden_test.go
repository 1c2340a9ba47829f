package checkpoint_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

// The types below are what testdata/generate.py records from LangGraph.
type (
	goldenScenario struct {
		Name     string
		Thread   string
		Reducers map[string]string
		// Graphs are the root graph, under "", and those that nodes run.
		Graphs  map[string]goldenGraph
		Moments []goldenMoment
		Updates []goldenUpdate
	}
	goldenGraph struct {
		Nodes []struct {
			Name     string
			Triggers []string
		}
		Defaults map[string]goldenValue
		Delta    []string
		Root     bool
	}
	goldenMoment struct {
		Name      string
		Store     goldenStore
		Snapshots []goldenSnapshot
	}
	goldenUpdate struct {
		Name          string
		Before, After goldenStore
		ID            string
		Values        *goldenValue
		AsNode        string `json:"as_node"`
		Next          []string
		Join          string
		Sends         goldenValue
		Written       string
		Snapshot      goldenSnapshot
	}
	goldenStore struct {
		Checkpoints []struct {
			Namespace, ID, Parent string
			Checkpoint, Metadata  goldenValue
		}
		Blobs []struct {
			Namespace, Channel string
			Version            checkpoint.Version
			Value              goldenValue
		}
		Writes []struct {
			Namespace, Checkpoint, Task, Channel, Path string
			Index                                      int
			Value                                      goldenValue
		}
	}
	goldenSnapshot struct {
		Namespace, ID string
		Live          bool
		Values        goldenValue
		Next          []string
		Tasks         []struct {
			ID, Name, Path string
			Error          any
			Interrupts     goldenValue
			Result         *goldenValue
		}
		Interrupts goldenValue
		Metadata   goldenValue
		CreatedAt  string `json:"created_at"`
		Parent     string
	}
	goldenValue struct {
		Type string
		Data []byte
	}
)

func (v goldenValue) load(t *testing.T) any {
	t.Helper()
	value, err := serde.Default().Load(serde.Typed{Type: v.Type, Data: v.Data})
	require.NoError(t, err)
	return value
}

var readGolden = sync.OnceValues(func() ([]goldenScenario, error) {
	file, err := os.Open(filepath.Join("testdata", "langgraph.json.gz"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	var golden struct{ Scenarios []goldenScenario }
	return golden.Scenarios, json.NewDecoder(unzipped).Decode(&golden)
})

func golden(t *testing.T) []goldenScenario {
	t.Helper()
	scenarios, err := readGolden()
	require.NoError(t, err)
	require.NotEmpty(t, scenarios)
	return scenarios
}

// load makes the store that Python had.
func (s goldenStore) load(t *testing.T, thread string) *memory {
	t.Helper()
	m := newMemory()
	for _, row := range s.Checkpoints {
		key := checkpoint.Config{ThreadID: thread, Namespace: row.Namespace, CheckpointID: row.ID}
		m.states[key] = state{
			checkpoint: toJSON(t, row.Checkpoint.load(t)), metadata: toJSON(t, row.Metadata.load(t)), parent: row.Parent,
			created: time.Unix(0, 0),
		}
	}
	for _, row := range s.Blobs {
		m.blobs[blobKey{thread, row.Namespace, row.Channel, row.Version.String()}] = serde.Typed{
			Type: row.Value.Type, Data: row.Value.Data,
		}
	}
	for _, row := range s.Writes {
		key := checkpoint.Config{ThreadID: thread, Namespace: row.Namespace, CheckpointID: row.Checkpoint}
		m.writes[key] = sorted(append(m.writes[key], savedWrite{
			checkpoint.Write{TaskID: row.Task, TaskPath: row.Path, Channel: row.Channel, Index: row.Index},
			serde.Typed{Type: row.Value.Type, Data: row.Value.Data},
		}))
	}
	return m
}

func toJSON(t *testing.T, value any) []byte {
	t.Helper()
	encoded, err := value.(*ordered.Map).MarshalJSON()
	require.NoError(t, err)
	return encoded
}

var reducersByName = map[string]checkpoint.Reducer{
	"append": checkpoint.Append, "add_messages": checkpoint.AddMessages, "delta_messages": checkpoint.DeltaMessages,
}

func (s goldenScenario) reducers(t *testing.T) map[string]checkpoint.Reducer {
	t.Helper()
	reducers := map[string]checkpoint.Reducer{}
	for channel, name := range s.Reducers {
		require.Contains(t, reducersByName, name)
		reducers[channel] = reducersByName[name]
	}
	return reducers
}

// graph is the one that keeps its checkpoints in a namespace.
func (s goldenScenario) graph(namespace string) goldenGraph {
	node, _, _ := strings.Cut(namespace, ":")
	return s.Graphs[node]
}

func (g goldenGraph) options(t *testing.T, reducers map[string]checkpoint.Reducer) []checkpoint.StateOption {
	t.Helper()
	var nodes []checkpoint.Node
	for _, node := range g.Nodes {
		nodes = append(nodes, checkpoint.Node{Name: node.Name, Triggers: node.Triggers})
	}
	return []checkpoint.StateOption{
		checkpoint.WithReducers(reducers), checkpoint.WithNodes(nodes...), checkpoint.WithDefaults(g.defaults(t)),
	}
}

func (g goldenGraph) defaults(t *testing.T) map[string]any {
	t.Helper()
	defaults := map[string]any{}
	for channel, value := range g.Defaults {
		defaults[channel] = value.load(t)
	}
	return defaults
}

// wanted is the snapshot that LangGraph made.
func (s goldenSnapshot) wanted(t *testing.T, thread string, graph goldenGraph) *checkpoint.Snapshot {
	t.Helper()
	config := checkpoint.Config{ThreadID: thread, Namespace: s.Namespace, CheckpointID: s.ID}
	snapshot := &checkpoint.Snapshot{
		Next: slices.Clone(s.Next), Config: config, Interrupts: interrupts(t, s.Interrupts), Metadata: checkpoint.Metadata{},
	}
	if s.Parent != "" {
		parent := at(config, s.Parent)
		snapshot.Parent = &parent
	}
	var err error
	snapshot.CreatedAt, err = time.Parse(time.RFC3339Nano, s.CreatedAt)
	require.NoError(t, err)
	require.NoError(t, snapshot.Metadata.UnmarshalJSON(toJSON(t, s.Metadata.load(t))))
	if values := s.Values.load(t); graph.Root {
		snapshot.Values = map[string]any{"__root__": values}
	} else {
		snapshot.Values = entries(t, values)
	}
	for _, task := range s.Tasks {
		wanted := checkpoint.Task{
			ID: task.ID, Name: task.Name, Path: task.Path, Error: task.Error, Interrupts: interrupts(t, task.Interrupts),
			Namespace: strings.TrimPrefix(s.Namespace+"|"+task.Name+":"+task.ID, "|"),
		}
		if task.Result != nil {
			wanted.Result = task.Result.load(t)
			if m, ok := wanted.Result.(*ordered.Map); ok {
				wanted.Result = plainResult(t, m)
			}
		}
		snapshot.Tasks = append(snapshot.Tasks, wanted)
	}
	return snapshot
}

func plainResult(t *testing.T, m *ordered.Map) map[string]any {
	t.Helper()
	result := entries(t, m)
	for channel, value := range result {
		if several, ok := value.(*ordered.Map); ok {
			if list, ok := several.Get("$writes"); ok {
				result[channel] = map[string]any{"$writes": list}
			}
		}
	}
	return result
}

func interrupts(t *testing.T, value goldenValue) []serde.Interrupt {
	t.Helper()
	var list []serde.Interrupt
	for _, item := range value.load(t).([]any) {
		list = append(list, item.(serde.Interrupt))
	}
	return list
}

func entries(t *testing.T, value any) map[string]any {
	t.Helper()
	m := map[string]any{}
	for key, element := range value.(*ordered.Map).All() {
		m[key.(string)] = element
	}
	return m
}
