package checkpoint

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// Reducer says what a channel holds after an update: LangGraph's reducer functions. Current is nil when the channel holds
// nothing yet. A Reducer changes neither of its arguments, and gives an error for an update that it cannot take.
type Reducer func(current, update any) (any, error)

// Replace is the reducer of a channel that has none: the last update stays.
func Replace(_, update any) (any, error) { return update, nil }

// Append adds the elements of one list to another, as operator.add does. It takes any slice and gives []any.
func Append(current, update any) (any, error) {
	added, ok := listOf(update)
	if !ok {
		return nil, reducerError("Append", "a list", update)
	}
	held, ok := listOf(current)
	if !ok && current != nil {
		return nil, reducerError("Append to", "a list", current)
	}
	joined := make([]any, 0, len(held)+len(added))
	return append(append(joined, held...), added...), nil
}

// MergeMap adds the entries of one map to another, as the operator | does; an entry of the update stands above the current
// one, which keeps its place. It gives an *ordered.Map if either is one, and else a map[string]any.
func MergeMap(current, update any) (any, error) {
	if held, ok := current.(map[string]any); ok || current == nil {
		if added, ok := update.(map[string]any); ok {
			merged := make(map[string]any, len(held)+len(added))
			for _, entries := range []map[string]any{held, added} {
				for key, value := range entries {
					merged[key] = value
				}
			}
			return merged, nil
		}
	}
	held, ok := orderedOf(current)
	if !ok && current != nil {
		return nil, reducerError("MergeMap into", "a map", current)
	}
	added, ok := orderedOf(update)
	if !ok {
		return nil, reducerError("MergeMap", "a map", update)
	}
	merged := held.Clone()
	for key, value := range added.All() {
		merged.Set(key, value)
	}
	return merged, nil
}

// AddMessages merges messages by ID, as LangGraph's add_messages does: a message takes the place of the one with its ID,
// and others go to the end. A RemoveMessage removes the message of its ID (an error if there is none), and one whose ID is
// [messages.RemoveAll] everything before it. Messages without an ID get one, and chunks become whole messages.
//
// Current and update are one message or a list. A message is a [messages.Message], a string (said by a person), a list of
// role and content, or a map with "role" or "type", and "content".
func AddMessages(current, update any) (any, error) {
	held, added, err := messageLists("AddMessages", current, update)
	if err != nil {
		return nil, err
	}
	held, added = asWholeMessages(held), asWholeMessages(added)
	for i := len(added) - 1; i >= 0; i-- {
		if isRemoval(added[i]) && added[i].ID() == messages.RemoveAll {
			return messagesToList(added[i+1:]), nil
		}
	}
	merged := held
	places := make(map[string]int, len(merged))
	for i, message := range merged {
		places[message.ID()] = i
	}
	removed := map[string]bool{}
	for _, message := range added {
		id := message.ID()
		place, known := places[id]
		switch {
		case isRemoval(message) && !known:
			return nil, fmt.Errorf("%w: AddMessages: there is no message %q to remove", ErrInvalidArgument, id)
		case isRemoval(message):
			removed[id] = true
		case known:
			delete(removed, id)
			merged[place] = message
		default:
			places[id] = len(merged)
			merged = append(merged, message)
		}
	}
	return messagesToList(without(merged, removed)), nil
}

// DeltaMessages is the reducer LangGraph has for messages in a delta channel. It differs from [AddMessages] in what a replay
// of many updates at once cannot do: removing a message that is not there is no error, RemoveAll is an ID like any other, a
// message written again after its removal goes to the end, messages without an ID stay without, and chunks stay chunks.
func DeltaMessages(current, update any) (any, error) {
	held, added, err := messageLists("DeltaMessages", current, update)
	if err != nil {
		return nil, err
	}
	merged := held
	places := make(map[string]int, len(merged))
	for i, message := range merged {
		if message.ID() != "" {
			places[message.ID()] = i
		}
	}
	for _, message := range added {
		id := message.ID()
		place, known := places[id]
		switch {
		case id == "":
			merged = append(merged, message)
		case isRemoval(message) && known:
			merged[place] = nil
			delete(places, id)
		case isRemoval(message):
		case known:
			merged[place] = message
		default:
			places[id] = len(merged)
			merged = append(merged, message)
		}
	}
	return messagesToList(merged), nil
}

func reducerError(reducer, wanted string, got any) error {
	return fmt.Errorf("%w: %s takes %s, not %T", ErrInvalidArgument, reducer, wanted, got)
}

// messageLists makes lists of its own, which the reducers may change.
func messageLists(reducer string, current, update any) (held, added []messages.Message, err error) {
	if update == nil {
		return nil, nil, fmt.Errorf("%w: %s takes messages, not nil", ErrInvalidArgument, reducer)
	}
	if current != nil {
		if held, err = messagesOf(current); err != nil {
			return nil, nil, fmt.Errorf("%s to the current value: %w", reducer, err)
		}
	}
	if added, err = messagesOf(update); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", reducer, err)
	}
	return held, added, nil
}

func messagesOf(value any) ([]messages.Message, error) {
	items, ok := listOf(value)
	if !ok {
		items = []any{value}
	}
	list := make([]messages.Message, len(items))
	for i, item := range items {
		message, err := messageOf(item)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = message
	}
	return list, nil
}

func messageOf(value any) (messages.Message, error) {
	switch v := value.(type) {
	case messages.Message:
		return v, nil
	case string:
		return messages.Human(v), nil
	case []any:
		if role, ok := roleAndContent(v); ok {
			return newMessage(role, ordered.New().Set("content", v[1]))
		}
	case *ordered.Map, map[string]any:
		fields, _ := orderedOf(v)
		return messageOfFields(fields)
	}
	return nil, fmt.Errorf("%w: a message is a messages.Message, text, a list of role and content or a map, not %T",
		ErrInvalidArgument, value)
}

func roleAndContent(pair []any) (string, bool) {
	if len(pair) != 2 {
		return "", false
	}
	role, ok := pair[0].(string)
	return role, ok
}

func messageOfFields(fields *ordered.Map) (messages.Message, error) {
	fields = fields.Clone()
	role, ok := ordered.Lookup[string](fields, "role")
	if ok {
		fields.Delete("role")
	} else if role, ok = ordered.Lookup[string](fields, "type"); ok {
		fields.Delete("type")
	}
	if _, hasContent := fields.Get("content"); !ok || !hasContent {
		return nil, fmt.Errorf("%w: a message that is a map has \"role\" or \"type\", and \"content\"", ErrInvalidArgument)
	}
	return newMessage(role, fields)
}

// constructors are the modules and classes of messages by the names that LangChain takes for a role.
var constructors = map[string][2]string{
	"human":     {"langchain_core.messages.human", "HumanMessage"},
	"user":      {"langchain_core.messages.human", "HumanMessage"},
	"ai":        {"langchain_core.messages.ai", "AIMessage"},
	"assistant": {"langchain_core.messages.ai", "AIMessage"},
	"system":    {"langchain_core.messages.system", "SystemMessage"},
	"developer": {"langchain_core.messages.system", "SystemMessage"},
	"function":  {"langchain_core.messages.function", "FunctionMessage"},
	"tool":      {"langchain_core.messages.tool", "ToolMessage"},
	"remove":    {"langchain_core.messages.modifier", "RemoveMessage"},
}

func newMessage(role string, fields *ordered.Map) (messages.Message, error) {
	class, known := constructors[role]
	if !known {
		return nil, fmt.Errorf("%w: %q is no role of a message; use user, assistant, system, tool, function or remove",
			ErrInvalidArgument, role)
	}
	if content, _ := fields.Get("content"); content == nil {
		fields.Set("content", "")
	}
	if role == "developer" {
		kwargs, _ := ordered.Lookup[*ordered.Map](fields, "additional_kwargs")
		fields.Set("additional_kwargs", kwargs.Clone().Set("__openai_role__", role))
	}
	message, ok := messages.FromConstructor(class[0], class[1], fields)
	if !ok {
		return nil, fmt.Errorf("%w: the fields of the %s message are not those of one", ErrInvalidArgument, role)
	}
	return message, nil
}

// asWholeMessages gives messages an ID where they have none, and makes whole messages of chunks.
func asWholeMessages(list []messages.Message) []messages.Message {
	for i, message := range list {
		list[i] = withID(whole(message))
	}
	return list
}

// whole is the message that a chunk is of.
func whole(message messages.Message) messages.Message {
	if !message.IsChunk() {
		return message
	}
	module, name := message.Class()
	fields := ordered.New()
	for key, value := range message.Fields().All() {
		switch key {
		case "type", "tool_call_chunks", "chunk_position":
		default:
			fields.Set(key, value)
		}
	}
	if made, ok := messages.FromConstructor(module, strings.TrimSuffix(name, "Chunk"), fields); ok {
		return made
	}
	return message
}

// withID is the message with an ID, if it has none, made as LangGraph makes it.
func withID(message messages.Message) messages.Message {
	if message.ID() != "" {
		return message
	}
	return messages.With(message, messages.WithID(uuid.NewString()))
}

// withMessageIDs gives every message that an update has an ID, so that what is saved of it and what a reducer makes of it
// have the same.
func withMessageIDs(update any) any {
	switch v := update.(type) {
	case messages.Message:
		return withID(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withMessageIDs(item)
		}
		return list
	case []messages.Message:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withID(item)
		}
		return list
	case serde.Overwrite:
		v.Value = withMessageIDs(v.Value)
		return v
	}
	return update
}

func isRemoval(message messages.Message) bool { return message.Role() == messages.RoleRemove }

func without(list []messages.Message, removed map[string]bool) []messages.Message {
	kept := make([]messages.Message, 0, len(list))
	for _, message := range list {
		if !removed[message.ID()] {
			kept = append(kept, message)
		}
	}
	return kept
}

func messagesToList(list []messages.Message) []any {
	items := make([]any, 0, len(list))
	for _, message := range list {
		if message != nil {
			items = append(items, message)
		}
	}
	return items
}

// orderedOf returns a map's entries in its own order, or in that of its keys.
func orderedOf(value any) (*ordered.Map, bool) {
	switch v := value.(type) {
	case *ordered.Map:
		return v, true
	case map[string]any:
		return ordered.Sorted(v), true
	}
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
		return nil, false
	}
	entries := make(map[string]any, v.Len())
	for key, element := range v.Seq2() {
		entries[key.String()] = element.Interface()
	}
	return ordered.Sorted(entries), true
}

// elementsOf returns the elements of any slice or array but of bytes.
func elementsOf(value any) ([]any, bool) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array || v.Type().Elem().Kind() == reflect.Uint8 {
		return nil, false
	}
	elements := make([]any, v.Len())
	for i := range elements {
		elements[i] = v.Index(i).Interface()
	}
	return elements, true
}

// overwriteOf takes a write apart that replaces a channel's value whatever its reducer: LangGraph's Overwrite, in its own
// form and in the two that it has as plain data.
func overwriteOf(update any) (value any, ok bool) {
	const marker = "__overwrite__"
	switch v := update.(type) {
	case serde.Overwrite:
		return v.Value, true
	case *serde.Overwrite:
		return v.Value, true
	case map[string]any, *ordered.Map:
		fields, _ := orderedOf(v)
		if value, ok = fields.Get(marker); ok && fields.Len() == 1 {
			return value, true
		}
		if kind, _ := ordered.Lookup[string](fields, "type"); kind == marker {
			return fields.Get("value")
		}
	}
	return nil, false
}

// reduceStep applies what one superstep wrote to one channel. A value that overwrites stands above all others of its step.
func reduceStep(current any, updates []any, reducer Reducer) (any, error) {
	overwritten := false
	var last any
	for _, update := range updates {
		value, ok := overwriteOf(update)
		if !ok {
			continue
		}
		if overwritten {
			return nil, fmt.Errorf("%w: one superstep overwrites the channel twice", ErrInvalidArgument)
		}
		overwritten, last = true, value
	}
	if overwritten {
		return last, nil
	}
	if reducer == nil {
		reducer = Replace
	}
	for _, update := range updates {
		var err error
		if current, err = reducer(current, update); err != nil {
			return nil, err
		}
	}
	return current, nil
}
