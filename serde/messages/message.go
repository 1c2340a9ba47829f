package messages

import (
	"encoding/json"
	"strings"

	"github.com/pgweft/pgweft/serde/ordered"
)

// Message is one of the message types of this package. Messages are values to
// read: nothing changes them once made, and With makes changed copies, so they
// can be shared between goroutines. What their methods return is shared with
// the message and must not be changed either.
type Message interface {
	// Role is who speaks.
	Role() Role
	// ID identifies the message in a conversation, "" where it has none.
	ID() string
	// Name is the optional name of the speaker (of the tool, for a ToolMessage).
	Name() string
	// Content is a string, or []any of parts that are strings or *ordered.Map.
	Content() any
	// Text is the text of the content: all of a string, the text parts of a list.
	Text() string
	// AdditionalKwargs is what the provider sent beyond LangChain's fields.
	AdditionalKwargs() *ordered.Map
	// ResponseMetadata is what the provider said of the response: model, token
	// counts, reason to stop.
	ResponseMetadata() *ordered.Map
	// Field returns any field of the message, also one this package has no
	// method for.
	Field(name string) (any, bool)
	// Fields are all fields in the order in which they are written.
	Fields() *ordered.Map
	// Class is the Python class the message is of.
	Class() (module, name string)
	// IsChunk reports whether this is a piece of a streamed message.
	IsChunk() bool
	// Equal reports whether two messages are written as the same bytes.
	Equal(Message) bool
	json.Marshaler

	underlying() message
}

type message struct {
	class  *class
	fields *ordered.Map
}

// The types a Message can be. A chunk (HumanMessageChunk, ...) has the type of
// the message it is a piece of, and IsChunk reports true.
type (
	// HumanMessage is what a person said.
	HumanMessage struct{ message }
	// AIMessage is what a model answered.
	AIMessage struct{ message }
	// SystemMessage is an instruction to the model.
	SystemMessage struct{ message }
	// ToolMessage is the result of a tool call.
	ToolMessage struct{ message }
	// FunctionMessage is the result of a function call, in the older form.
	FunctionMessage struct{ message }
	// ChatMessage is a message of a speaker with a free name.
	ChatMessage struct{ message }
	// RemoveMessage asks the reducer to remove the message of its id, or all of
	// them where the id is RemoveAll.
	RemoveMessage struct{ message }
)

func (m message) underlying() message { return m }

func (m message) Role() Role { return m.class.role }

func (m message) ID() string { return m.text("id") }

func (m message) Name() string { return m.text("name") }

func (m message) Content() any {
	content, _ := m.fields.Get("content")
	return content
}

func (m message) Text() string {
	switch content := m.Content().(type) {
	case string:
		return content
	case []any:
		return textOfParts(content)
	}
	return ""
}

func textOfParts(parts []any) string {
	var text strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			text.WriteString(p)
		case *ordered.Map:
			if kind, _ := ordered.Lookup[string](p, "type"); kind == "text" {
				t, _ := ordered.Lookup[string](p, "text")
				text.WriteString(t)
			}
		}
	}
	return text.String()
}

func (m message) AdditionalKwargs() *ordered.Map { return m.mapping("additional_kwargs") }

func (m message) ResponseMetadata() *ordered.Map { return m.mapping("response_metadata") }

func (m message) Field(name string) (any, bool) { return m.fields.Get(name) }

func (m message) Fields() *ordered.Map { return m.fields }

func (m message) Class() (module, name string) { return m.class.module, m.class.name }

func (m message) IsChunk() bool { return m.class.chunk }

func (m message) Equal(other Message) bool {
	if other == nil {
		return false
	}
	o := other.underlying()
	return m.class == o.class && m.fields.Equal(o.fields)
}

// MarshalJSON writes the fields as a JSON object, as model_dump_json does.
func (m message) MarshalJSON() ([]byte, error) { return m.fields.MarshalJSON() }

func (m message) text(field string) string {
	text, _ := ordered.Lookup[string](m.fields, field)
	return text
}

func (m message) mapping(field string) *ordered.Map {
	mapping, _ := ordered.Lookup[*ordered.Map](m.fields, field)
	return mapping
}

// ToolCallID is the id of the ToolCall this message answers.
func (m *ToolMessage) ToolCallID() string { return m.text("tool_call_id") }

// Artifact is what the tool returned beside the content, not meant for the
// model; nil where there is none.
func (m *ToolMessage) Artifact() any {
	artifact, _ := m.fields.Get("artifact")
	return artifact
}

// Status says whether the tool succeeded.
func (m *ToolMessage) Status() Status { return Status(m.text("status")) }

// Speaker is the free role the message was given.
func (m *ChatMessage) Speaker() string { return m.text("role") }
