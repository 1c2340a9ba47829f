package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
)

func init() { maps.Copy(methods, peerMethods) }

// peerMethods are what a client asks of Go as of another program on the same database. Values pass through Go here: they are
// decoded, and what the client gets is what Go encodes again.
var peerMethods = map[string]func(context.Context, *pgsaver.Saver, json.RawMessage) (any, error){
	"peer_fork":    method(peerFork),
	"peer_history": method(peerHistory),
	"peer_list":    method(peerList),
	"peer_update":  method(peerUpdate),
	"recode":       method(recode),
	"build":        method(buildValues),
}

// peer is a saver of any database and schema.
type peer struct {
	DatabaseURL string `json:"database_url"`
	Schema      string `json:"schema"`
	// Key encrypts, when there is one.
	Key []byte `json:"key"`
}

var pools sync.Map // of *pgxpool.Pool by URL; they live as long as the program

func (p peer) serializer() (serde.Serializer, error) {
	if len(p.Key) == 0 {
		return serde.Default(), nil
	}
	cipher, err := serde.NewAES(p.Key)
	if err != nil {
		return nil, err
	}
	return serde.Encrypted(serde.Default(), cipher), nil
}

func (p peer) saver(ctx context.Context) (*pgsaver.Saver, error) {
	pool, err := poolOf(ctx, p.DatabaseURL)
	if err != nil {
		return nil, err
	}
	serializer, err := p.serializer()
	if err != nil {
		return nil, err
	}
	return pgsaver.New(pool, &pgsaver.Config{Schema: p.Schema, Serde: serializer}), nil
}

func poolOf(ctx context.Context, databaseURL string) (*pgxpool.Pool, error) {
	pool, found := pools.Load(databaseURL)
	if !found {
		made, err := pgxpool.New(context.WithoutCancel(ctx), databaseURL)
		if err != nil {
			return nil, err
		}
		if pool, found = pools.LoadOrStore(databaseURL, made); found {
			made.Close()
		}
	}
	return pool.(*pgxpool.Pool), nil
}

func closePools() {
	pools.Range(func(_, pool any) bool {
		pool.(*pgxpool.Pool).Close()
		return true
	})
}

// encode writes a value that Go has decoded, or made.
func encode(v any) (value, error) {
	encoded, err := serde.Default().Dump(v)
	if err != nil {
		return value{}, err
	}
	return newValue(encoded), nil
}

func encodeAll(values map[string]any) (map[string]value, error) {
	encoded := make(map[string]value, len(values))
	for channel, v := range values {
		var err error
		if encoded[channel], err = encode(v); err != nil {
			return nil, fmt.Errorf("channel %q: %w", channel, err)
		}
	}
	return encoded, nil
}

type peerListParams struct {
	peer
	ThreadID *string `json:"thread_id"`
}

// peerList is every checkpoint of a thread, or of all.
func peerList(ctx context.Context, _ *pgsaver.Saver, params peerListParams) (any, error) {
	saver, err := params.saver(ctx)
	if err != nil {
		return nil, err
	}
	place := checkpoint.Config{}
	if params.ThreadID != nil {
		place.ThreadID = *params.ThreadID
	}
	tuples := []tuple{}
	for read, err := range saver.List(ctx, place, checkpoint.ListOptions{AllNamespaces: true}) {
		if err != nil {
			return nil, err
		}
		encoded, err := encodedTuple(read)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", read.Config, err)
		}
		tuples = append(tuples, encoded)
	}
	return tuples, nil
}

func encodedTuple(read *checkpoint.Tuple) (tuple, error) {
	values, err := encodeAll(read.Checkpoint.ChannelValues)
	if err != nil {
		return tuple{}, err
	}
	writes := make([]pendingWrite, len(read.PendingWrites))
	for i, w := range read.PendingWrites {
		encoded, err := encode(w.Value)
		if err != nil {
			return tuple{}, err
		}
		writes[i] = pendingWrite{TaskID: w.TaskID, Channel: w.Channel, Value: encoded}
	}
	read.PendingWrites = nil
	t := newTuple(read)
	t.Values, t.PendingWrites = values, writes
	return t, nil
}

// graph is what a state does not say about itself.
type graph struct {
	Nodes    []checkpoint.Node `json:"nodes"`
	Defaults map[string]typed  `json:"defaults"`
	Reducers map[string]string `json:"reducers"`
	Delta    []string          `json:"delta"`
}

var reducers = map[string]checkpoint.Reducer{"append": checkpoint.Append, "messages": checkpoint.AddMessages}

func (g graph) named() (map[string]checkpoint.Reducer, error) {
	named := map[string]checkpoint.Reducer{}
	for channel, name := range g.Reducers {
		reducer, known := reducers[name]
		if !known {
			return nil, fmt.Errorf("%w: there is no reducer %q", checkpoint.ErrInvalidArgument, name)
		}
		named[channel] = reducer
	}
	return named, nil
}

func (g graph) defaults() (map[string]any, error) {
	defaults := map[string]any{}
	for channel, v := range g.Defaults {
		var err error
		if defaults[channel], err = serde.Default().Load(serde.Typed(v)); err != nil {
			return nil, err
		}
	}
	return defaults, nil
}

func (g graph) options() ([]checkpoint.StateOption, error) {
	named, err := g.named()
	if err != nil {
		return nil, err
	}
	defaults, err := g.defaults()
	if err != nil {
		return nil, err
	}
	return []checkpoint.StateOption{
		checkpoint.WithReducers(named), checkpoint.WithNodes(g.Nodes...), checkpoint.WithDefaults(defaults),
	}, nil
}

// snapshot is a checkpoint.Snapshot in JSON.
type snapshot struct {
	Config     config              `json:"config"`
	Parent     *config             `json:"parent_config"`
	Values     map[string]value    `json:"values"`
	Next       []string            `json:"next"`
	Tasks      []snapshotTask      `json:"tasks"`
	Interrupts value               `json:"interrupts"`
	Metadata   checkpoint.Metadata `json:"metadata"`
	CreatedAt  string              `json:"created_at"`
}

type snapshotTask struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Path       string `json:"path"`
	Error      value  `json:"error"`
	Interrupts value  `json:"interrupts"`
	Result     value  `json:"result"`
}

type peerHistoryParams struct {
	peer
	ThreadID string `json:"thread_id"`
	Graph    graph  `json:"graph"`
}

// peerHistory is how things stand in a thread, followed by every state it has had, newest first.
func peerHistory(ctx context.Context, _ *pgsaver.Saver, params peerHistoryParams) (any, error) {
	saver, err := params.saver(ctx)
	if err != nil {
		return nil, err
	}
	options, err := params.Graph.options()
	if err != nil {
		return nil, err
	}
	place := checkpoint.Config{ThreadID: params.ThreadID}
	now, err := checkpoint.GetState(ctx, saver, place, options...)
	if err != nil {
		return nil, err
	}
	newest, err := newSnapshot(now)
	if err != nil {
		return nil, err
	}
	snapshots := []*snapshot{newest}
	for read, err := range checkpoint.StateHistory(ctx, saver, place, checkpoint.ListOptions{}, options...) {
		if err != nil {
			return nil, err
		}
		s, err := newSnapshot(read)
		if err != nil {
			return nil, err
		}
		snapshots = append(snapshots, s)
	}
	return snapshots, nil
}

func newSnapshot(read *checkpoint.Snapshot) (*snapshot, error) {
	s := &snapshot{
		Config: config(read.Config), Parent: (*config)(read.Parent), Next: append([]string{}, read.Next...), Metadata: read.Metadata,
		CreatedAt: read.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000+00:00"), Tasks: []snapshotTask{},
	}
	var err error
	if s.Values, err = encodeAll(read.Values); err != nil {
		return nil, err
	}
	if s.Interrupts, err = encode(read.Interrupts); err != nil {
		return nil, err
	}
	for _, task := range read.Tasks {
		t := snapshotTask{ID: task.ID, Name: task.Name, Path: task.Path}
		for _, field := range []struct {
			into *value
			from any
		}{{&t.Error, task.Error}, {&t.Interrupts, task.Interrupts}, {&t.Result, task.Result}} {
			if *field.into, err = encode(field.from); err != nil {
				return nil, err
			}
		}
		s.Tasks = append(s.Tasks, t)
	}
	return s, nil
}

type peerUpdateParams struct {
	peer
	Config config `json:"config"`
	Graph  graph  `json:"graph"`
	// Values are descriptions, see build.go.
	Values            map[string]description `json:"values"`
	AsNode            string                 `json:"as_node"`
	Next              []string               `json:"next"`
	SnapshotFrequency map[string]int         `json:"snapshot_frequency"`
}

// peerUpdate writes a checkpoint whose values are made in Go.
func peerUpdate(ctx context.Context, _ *pgsaver.Saver, params peerUpdateParams) (any, error) {
	saver, err := params.saver(ctx)
	if err != nil {
		return nil, err
	}
	named, err := params.Graph.named()
	if err != nil {
		return nil, err
	}
	defaults, err := params.Graph.defaults()
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for channel, d := range params.Values {
		if values[channel], err = d.build(); err != nil {
			return nil, err
		}
	}
	written, err := checkpoint.UpdateState(ctx, saver, checkpoint.Config(params.Config), values, checkpoint.UpdateOptions{
		AsNode: params.AsNode, Defaults: defaults, DeltaChannels: params.Graph.Delta, Next: params.Next, Reducers: named,
		SnapshotFrequency: params.SnapshotFrequency,
	})
	return config(written), err
}

type peerForkParams struct {
	peer
	Config config `json:"config"`
}

func peerFork(ctx context.Context, _ *pgsaver.Saver, params peerForkParams) (any, error) {
	saver, err := params.saver(ctx)
	if err != nil {
		return nil, err
	}
	forked, err := saver.Fork(ctx, checkpoint.Config(params.Config), checkpoint.ForkOptions{})
	return config(forked), err
}

type recodeParams struct {
	Values []typed `json:"values"`
}

// recoded is a value that Go has decoded and encoded again, or why it could not.
type recoded struct {
	Typed *typed `json:"typed,omitempty"`
	Error string `json:"error,omitempty"`
}

func recode(_ context.Context, _ *pgsaver.Saver, params recodeParams) (any, error) {
	answers := make([]recoded, len(params.Values))
	for i, given := range params.Values {
		answers[i] = dumped(serde.Default().Load(serde.Typed(given)))
	}
	return answers, nil
}

type buildParams struct {
	Values []description `json:"values"`
}

// buildValues answers with what Go writes for values that it makes from descriptions.
func buildValues(_ context.Context, _ *pgsaver.Saver, params buildParams) (any, error) {
	answers := make([]recoded, len(params.Values))
	for i, d := range params.Values {
		answers[i] = dumped(d.build())
	}
	return answers, nil
}

func dumped(v any, err error) recoded {
	if err != nil {
		return recoded{Error: err.Error()}
	}
	again, err := serde.Default().Dump(v)
	if err != nil {
		return recoded{Error: err.Error()}
	}
	made := typed(again)
	if made.Data == nil {
		made.Data = []byte{}
	}
	return recoded{Typed: &made}
}
