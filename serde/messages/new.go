package messages

import "github.com/pgweft/pgweft/serde/ordered"

// Status says how a tool call ended.
type Status string

// The states LangChain has.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

// Option sets a field of a message that is being made.
type Option func(fields *ordered.Map)

// WithID sets the id; "" is Python's None.
func WithID(id string) Option { return WithField("id", optional(id)) }

// WithName sets the speaker's name; "" is Python's None.
func WithName(name string) Option { return WithField("name", optional(name)) }

// WithParts makes the content a list of parts: strings, and maps such as
// TextPart returns.
func WithParts(parts ...any) Option {
	return WithField("content", append([]any{}, parts...))
}

// WithAdditionalKwargs sets what the provider sent beyond LangChain's fields.
func WithAdditionalKwargs(kwargs *ordered.Map) Option {
	return WithField("additional_kwargs", nonNil(kwargs))
}

// WithResponseMetadata sets what the provider said of the response.
func WithResponseMetadata(metadata *ordered.Map) Option {
	return WithField("response_metadata", nonNil(metadata))
}

// WithToolCalls sets the calls an AIMessage asks for.
func WithToolCalls(calls ...ToolCall) Option {
	items := make([]any, len(calls))
	for i, call := range calls {
		items[i] = call.fields()
	}
	return WithField("tool_calls", items)
}

// WithInvalidToolCalls sets the calls of an AIMessage that could not be parsed.
func WithInvalidToolCalls(calls ...InvalidToolCall) Option {
	items := make([]any, len(calls))
	for i, call := range calls {
		items[i] = call.fields()
	}
	return WithField("invalid_tool_calls", items)
}

// WithUsage sets the token counts of an AIMessage.
func WithUsage(usage Usage) Option { return WithField("usage_metadata", usage.fields()) }

// WithArtifact sets what a tool returned beside the content of its ToolMessage.
func WithArtifact(artifact any) Option { return WithField("artifact", artifact) }

// WithStatus sets how the tool call of a ToolMessage ended.
func WithStatus(status Status) Option { return WithField("status", string(status)) }

// WithField sets any field. One that the class does not declare goes to the
// end, as LangChain keeps it.
func WithField(name string, value any) Option {
	return func(fields *ordered.Map) { fields.Set(name, value) }
}

// TextPart is a part of a content list that holds text.
func TextPart(text string) *ordered.Map {
	return ordered.New().Set("type", "text").Set("text", text)
}

// Human returns a message of a person.
func Human(text string, options ...Option) *HumanMessage {
	return &HumanMessage{humanClass.build(text, options)}
}

// AI returns a message of a model. Where only additional_kwargs has tool calls,
// in OpenAI's shape, they become ToolCalls, as in LangChain.
func AI(text string, options ...Option) *AIMessage {
	m := &AIMessage{aiClass.build(text, options)}
	m.adoptProviderCalls()
	return m
}

// System returns an instruction to the model.
func System(text string, options ...Option) *SystemMessage {
	return &SystemMessage{systemClass.build(text, options)}
}

// Tool returns the result of the tool call of this id.
func Tool(text, toolCallID string, options ...Option) *ToolMessage {
	m := toolClass.blank(text)
	m.fields.Set("tool_call_id", toolCallID)
	m.apply(options)
	return &ToolMessage{m}
}

// Function returns the result of the function of this name.
func Function(text, name string, options ...Option) *FunctionMessage {
	m := functionClass.blank(text)
	m.fields.Set("name", name)
	m.apply(options)
	return &FunctionMessage{m}
}

// Chat returns a message of a speaker with a free name.
func Chat(text, speaker string, options ...Option) *ChatMessage {
	m := chatClass.blank(text)
	m.fields.Set("role", speaker)
	m.apply(options)
	return &ChatMessage{m}
}

// Remove returns a request to remove the message of this id, or all messages
// for RemoveAll.
func Remove(id string, options ...Option) *RemoveMessage {
	m := removeClass.blank("")
	m.fields.Set("id", id)
	m.apply(options)
	return &RemoveMessage{m}
}

// With returns a copy of a message with some fields changed. All others,
// also those this package does not know, stay as they are.
func With[M Message](m M, options ...Option) M {
	original := m.underlying()
	changed := message{class: original.class, fields: original.fields.Clone()}
	changed.apply(options)
	return original.class.wrap(changed).(M)
}

// nonNil is the empty map for nil: the field is a dict in Python, never None.
func nonNil(m *ordered.Map) *ordered.Map {
	if m == nil {
		return ordered.New()
	}
	return m
}

func (c *class) build(content any, options []Option) message {
	m := c.blank(content)
	m.apply(options)
	return m
}

func (m message) apply(options []Option) {
	for _, option := range options {
		option(m.fields)
	}
}
