package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

func TestMessagesAreMergedAsInLangGraph(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "reducers.json"))
	require.NoError(t, err)
	var cases []struct {
		Name               string
		Current, Update    goldenValue
		AddMessages        *goldenValue `json:"add_messages"`
		DeltaMessages      *goldenValue `json:"delta_messages"`
		AddMessagesError   string       `json:"add_messages_error"`
		DeltaMessagesError string       `json:"delta_messages_error"`
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	check := func(t *testing.T, reducer checkpoint.Reducer, current, update goldenValue, wanted *goldenValue, fails string) {
		t.Helper()
		got, err := reducer(current.load(t), update.load(t))
		if wanted == nil {
			require.NotEmpty(t, fails)
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
			return
		}
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(wanted.load(t), got, sameValues))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			check(t, checkpoint.AddMessages, c.Current, c.Update, c.AddMessages, c.AddMessagesError)
			check(t, checkpoint.DeltaMessages, c.Current, c.Update, c.DeltaMessages, c.DeltaMessagesError)
		})
	}
}

func TestAddMessagesGivesMissingIDs(t *testing.T) {
	t.Parallel()
	unnamed := messages.Human("hi")
	got, err := checkpoint.AddMessages(nil, []any{unnamed, "there", []any{"ai", "hello"}})
	require.NoError(t, err)
	list := got.([]any)
	require.Len(t, list, 3)
	ids := map[string]bool{}
	for i, wanted := range []struct {
		role messages.Role
		text string
	}{{messages.RoleHuman, "hi"}, {messages.RoleHuman, "there"}, {messages.RoleAI, "hello"}} {
		message := list[i].(messages.Message)
		require.Equal(t, wanted.role, message.Role())
		require.Equal(t, wanted.text, message.Text())
		require.Len(t, message.ID(), 36)
		ids[message.ID()] = true
	}
	require.Len(t, ids, 3)
	require.Empty(t, unnamed.ID(), "the caller's message is not changed")
}

func TestReducersGiveWhatTheyGiveInPython(t *testing.T) {
	t.Parallel()
	python := func() *ordered.Map { return ordered.New().Set("b", 1).Set("a", 2) }
	for name, c := range map[string]struct {
		reducer         checkpoint.Reducer
		current, update any
		wanted          any
	}{
		"replace":                           {checkpoint.Replace, 1, 2, 2},
		"append":                            {checkpoint.Append, []any{1}, []any{2, nil}, []any{1, 2, nil}},
		"append to nothing":                 {checkpoint.Append, nil, []any{1}, []any{1}},
		"append nothing":                    {checkpoint.Append, []any{1}, []any{}, []any{1}},
		"append nothing to nothing":         {checkpoint.Append, nil, []any{}, []any{}},
		"append a slice of strings":         {checkpoint.Append, []any{1}, []string{"a"}, []any{1, "a"}},
		"append lists of lists":             {checkpoint.Append, []any{}, []any{[]any{1}}, []any{[]any{1}}},
		"merge Go maps":                     {checkpoint.MergeMap, map[string]any{"a": 1, "b": 2}, map[string]any{"b": 3}, map[string]any{"a": 1, "b": 3}},
		"merge into nothing":                {checkpoint.MergeMap, nil, map[string]any{"b": 3}, map[string]any{"b": 3}},
		"merge keeps the order":             {checkpoint.MergeMap, python(), ordered.New().Set("c", 3).Set("b", 4), ordered.New().Set("b", 4).Set("a", 2).Set("c", 3)},
		"merge a Go map into Python's":      {checkpoint.MergeMap, python(), map[string]any{"z": 1, "c": 2}, ordered.New().Set("b", 1).Set("a", 2).Set("c", 2).Set("z", 1)},
		"merge Python's map into a Go map":  {checkpoint.MergeMap, map[string]any{"x": 1}, python(), ordered.New().Set("x", 1).Set("b", 1).Set("a", 2)},
		"merge Python's map into nothing":   {checkpoint.MergeMap, nil, python(), python()},
		"merge a map of another value type": {checkpoint.MergeMap, map[string]any{"x": 1}, map[string]int{"y": 2}, ordered.New().Set("x", 1).Set("y", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.reducer(c.current, c.update)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(c.wanted, got, cmp.Comparer(func(a, b *ordered.Map) bool { return a.Equal(b) })))
		})
	}
}

func TestReducersDoNotChangeTheirArguments(t *testing.T) {
	t.Parallel()
	human, ai := messages.Human("h", messages.WithID("1")), messages.AI("a", messages.WithID("2"))
	spare := append(make([]any, 0, 8), human)
	for name, c := range map[string]struct {
		reducer         checkpoint.Reducer
		current, update any
	}{
		"Append":        {checkpoint.Append, spare, []any{ai}},
		"MergeMap":      {checkpoint.MergeMap, ordered.New().Set("a", 1), ordered.New().Set("a", 2)},
		"AddMessages":   {checkpoint.AddMessages, spare, []any{messages.Human("new", messages.WithID("1")), ai}},
		"DeltaMessages": {checkpoint.DeltaMessages, spare, []any{messages.Remove("1"), ai}},
	} {
		before, err := json.Marshal([]any{c.current, c.update})
		require.NoError(t, err, name)
		first, err := c.reducer(c.current, c.update)
		require.NoError(t, err, name)
		second, err := c.reducer(c.current, c.update)
		require.NoError(t, err, name)
		after, err := json.Marshal([]any{c.current, c.update})
		require.NoError(t, err, name)
		require.JSONEq(t, string(before), string(after), name)
		require.Empty(t, cmp.Diff(first, second, sameValues), name)
	}
	require.Nil(t, spare[:2][1], "nothing is written behind the current value")
}

func TestReducersRefuseWhatTheyCannotTake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reducer         checkpoint.Reducer
		current, update any
	}{
		"append text":                    {checkpoint.Append, []any{}, "text"},
		"append bytes":                   {checkpoint.Append, []any{}, []byte("text")},
		"append nil":                     {checkpoint.Append, []any{}, nil},
		"append to a number":             {checkpoint.Append, 1, []any{}},
		"merge a list":                   {checkpoint.MergeMap, nil, []any{}},
		"merge into a list":              {checkpoint.MergeMap, []any{}, map[string]any{}},
		"no messages":                    {checkpoint.AddMessages, []any{}, nil},
		"a message that is a number":     {checkpoint.AddMessages, nil, []any{1}},
		"a message without content":      {checkpoint.AddMessages, nil, map[string]any{"role": "user"}},
		"a message without role":         {checkpoint.AddMessages, nil, map[string]any{"content": "x"}},
		"a role that does not exist":     {checkpoint.AddMessages, nil, map[string]any{"role": "ghost", "content": "x"}},
		"a message with a numeric id":    {checkpoint.AddMessages, nil, map[string]any{"role": "user", "content": "x", "id": 7}},
		"current is no list of messages": {checkpoint.DeltaMessages, []any{1}, []any{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.reducer(c.current, c.update)
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
		})
	}
}

func TestReplayDelta(t *testing.T) {
	t.Parallel()
	writes := func(values ...any) []checkpoint.Write {
		var list []checkpoint.Write
		for _, value := range values {
			list = append(list, checkpoint.Write{TaskID: "task", Channel: "list", Value: value})
		}
		return list
	}
	over := serde.Overwrite{Value: []any{"over"}}
	for name, c := range map[string]struct {
		history checkpoint.DeltaHistory
		wanted  any
	}{
		"nothing":               {checkpoint.DeltaHistory{}, nil},
		"writes only":           {checkpoint.DeltaHistory{Writes: writes([]any{1}, []any{2})}, []any{1, 2}},
		"a snapshot":            {checkpoint.DeltaHistory{Seed: serde.DeltaSnapshot{Value: []any{0}}, HasSeed: true}, []any{0}},
		"a snapshot and writes": {checkpoint.DeltaHistory{Seed: serde.DeltaSnapshot{Value: []any{0}}, HasSeed: true, Writes: writes([]any{1})}, []any{0, 1}},
		"a plain value":         {checkpoint.DeltaHistory{Seed: []any{0}, HasSeed: true, Writes: writes([]any{1})}, []any{0, 1}},
		"an overwrite last":     {checkpoint.DeltaHistory{Seed: []any{0}, HasSeed: true, Writes: writes([]any{1}, over)}, []any{"over"}},
		"an overwrite between":  {checkpoint.DeltaHistory{Writes: writes([]any{1}, over, []any{2})}, []any{"over", 2}},
		"two overwrites":        {checkpoint.DeltaHistory{Writes: writes(over, []any{2}, serde.Overwrite{Value: []any{}}, []any{3})}, []any{3}},
		"an overwrite by nil":   {checkpoint.DeltaHistory{Writes: writes([]any{1}, serde.Overwrite{}, []any{2})}, []any{2}},
		"an overwrite as data":  {checkpoint.DeltaHistory{Writes: writes([]any{1}, ordered.New().Set("__overwrite__", []any{7}))}, []any{7}},
		"an overwrite as JSON":  {checkpoint.DeltaHistory{Writes: writes([]any{1}, map[string]any{"type": "__overwrite__", "value": []any{8}})}, []any{8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := checkpoint.ReplayDelta(c.history, checkpoint.Append)
			require.NoError(t, err)
			require.Equal(t, c.wanted, got)
		})
	}
	_, err := checkpoint.ReplayDelta(checkpoint.DeltaHistory{}, nil)
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
	_, err = checkpoint.ReplayDelta(checkpoint.DeltaHistory{Writes: writes("no list")}, checkpoint.Append)
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
	require.ErrorContains(t, err, "task")
}
