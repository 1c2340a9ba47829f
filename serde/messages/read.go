package messages

import (
	"strings"

	"github.com/pgweft/pgweft/serde/ordered"
)

// FromFields returns the message whose class and fields were read from
// MessagePack. The fields are kept as they are, in their order, so that the
// message is written as the same bytes. It reports false where the class is not
// one of LangChain's messages or the fields are not those of a message.
func FromFields(module, name string, fields *ordered.Map) (Message, bool) {
	c, ok := classes[name]
	if !ok || c.module != module || !readable(fields) {
		return nil, false
	}
	return c.wrap(message{class: c, fields: fields}), true
}

// FromConstructor returns the message that LangChain would construct from
// keyword arguments, as older checkpoints and JavaScript store it: absent
// fields get their defaults. The id is the constructor's path, such as
// "langchain.schema.messages", and name the class. It reports false where these
// name no message or the arguments are not those of one.
func FromConstructor(module, name string, kwargs *ordered.Map) (Message, bool) {
	c, ok := classes[name]
	if !ok || !isMessageModule(module, c.module) {
		return nil, false
	}
	m := c.blank("")
	if c != removeClass {
		m.fields.Set("content", nil)
	}
	for key, value := range kwargs.All() {
		m.fields.Set(key, value)
	}
	m.fields.Set("type", c.kind)
	normalizeCalls(m.fields, "tool_calls", "tool_call", "name", "args", "id")
	normalizeCalls(m.fields, "invalid_tool_calls", "invalid_tool_call", "id", "name", "args", "error")
	if !readable(m.fields) {
		return nil, false
	}
	made := c.wrap(m)
	if ai, ok := made.(*AIMessage); ok && !c.chunk {
		ai.adoptProviderCalls()
	}
	return made, true
}

// normalizeCalls gives the calls of a field the keys LangChain's constructors
// give them: older ones have no type.
func normalizeCalls(fields *ordered.Map, field, kind string, keys ...string) {
	items, _ := ordered.Lookup[[]any](fields, field)
	for i, item := range items {
		call, ok := item.(*ordered.Map)
		if !ok {
			continue
		}
		normal := ordered.New()
		if kind == "invalid_tool_call" {
			normal.Set("type", kind)
		}
		for _, key := range keys {
			value, _ := call.Get(key)
			normal.Set(key, value)
		}
		items[i] = normal.Set("type", kind)
	}
}

// isMessageModule knows the places LangChain's messages have lived in: where
// the class is, the package it is imported from (JavaScript), and the old one.
func isMessageModule(module, home string) bool {
	return module == home || module == "langchain_core.messages" || module == "langchain.schema.messages" ||
		strings.HasPrefix(module, "langchain.schema.messages.")
}

// readable reports whether the fields every reader relies on have the types
// that the Message interface promises.
func readable(fields *ordered.Map) bool {
	switch content, _ := fields.Get("content"); content.(type) {
	case string, []any:
	default:
		return false
	}
	id, _ := fields.Get("id")
	name, _ := fields.Get("name")
	return isOptionalText(id) && isOptionalText(name)
}

func isOptionalText(value any) bool {
	switch value.(type) {
	case nil, string:
		return true
	}
	return false
}
