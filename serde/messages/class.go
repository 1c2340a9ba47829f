package messages

import "github.com/pgweft/pgweft/serde/ordered"

// Role is who speaks: LangChain's type of the message, the same for a chunk as
// for the whole message.
type Role string

// The roles LangChain has.
const (
	RoleHuman    Role = "human"
	RoleAI       Role = "ai"
	RoleSystem   Role = "system"
	RoleTool     Role = "tool"
	RoleFunction Role = "function"
	RoleChat     Role = "chat"
	RoleRemove   Role = "remove"
)

// RemoveAll is the id with which a RemoveMessage removes every message before
// it (LangGraph's REMOVE_ALL_MESSAGES).
const RemoveAll = "__remove_all__"

// class is one of LangChain's message classes.
type class struct {
	module string
	name   string
	role   Role
	chunk  bool
	// kind is the "type" field of a message of this class.
	kind string
	// own are the fields beyond those of every message, with their defaults.
	own  func() []ordered.Entry
	wrap func(message) Message
}

// The constructors below write the fields in the order in which the Python
// class declares them, because pydantic dumps them in that order.
var (
	humanClass = newClass("human", "HumanMessage", RoleHuman, nil,
		func(m message) Message { return &HumanMessage{m} })
	aiClass = newClass("ai", "AIMessage", RoleAI, aiFields,
		func(m message) Message { return &AIMessage{m} })
	systemClass = newClass("system", "SystemMessage", RoleSystem, nil,
		func(m message) Message { return &SystemMessage{m} })
	toolClass = newClass("tool", "ToolMessage", RoleTool, toolFields,
		func(m message) Message { return &ToolMessage{m} })
	functionClass = newClass("function", "FunctionMessage", RoleFunction, nil,
		func(m message) Message { return &FunctionMessage{m} })
	chatClass = newClass("chat", "ChatMessage", RoleChat, chatFields,
		func(m message) Message { return &ChatMessage{m} })
	removeClass = newClass("modifier", "RemoveMessage", RoleRemove, nil,
		func(m message) Message { return &RemoveMessage{m} })
)

// classes are the message classes by name. LangChain has no two of one name.
var classes = func() map[string]*class {
	byName := map[string]*class{removeClass.name: removeClass}
	for _, c := range []*class{humanClass, aiClass, systemClass, toolClass, functionClass, chatClass} {
		byName[c.name] = c
		chunk := chunkOf(c)
		byName[chunk.name] = chunk
	}
	return byName
}()

func newClass(module, name string, role Role, own func() []ordered.Entry, wrap func(message) Message) *class {
	if own == nil {
		own = func() []ordered.Entry { return nil }
	}
	return &class{
		module: "langchain_core.messages." + module, name: name, role: role, kind: string(role), own: own, wrap: wrap,
	}
}

func chunkOf(c *class) *class {
	chunk := *c
	chunk.name += "Chunk"
	chunk.kind = chunk.name
	chunk.chunk = true
	if c == aiClass {
		chunk.own = aiChunkFields
	}
	return &chunk
}

func aiFields() []ordered.Entry {
	return []ordered.Entry{
		{Key: "tool_calls", Value: []any{}},
		{Key: "invalid_tool_calls", Value: []any{}},
		{Key: "usage_metadata", Value: nil},
	}
}

func aiChunkFields() []ordered.Entry {
	return append(aiFields(),
		ordered.Entry{Key: "tool_call_chunks", Value: []any{}},
		ordered.Entry{Key: "chunk_position", Value: nil})
}

func toolFields() []ordered.Entry {
	return []ordered.Entry{
		{Key: "tool_call_id", Value: ""},
		{Key: "artifact", Value: nil},
		{Key: "status", Value: string(StatusSuccess)},
	}
}

func chatFields() []ordered.Entry {
	return []ordered.Entry{{Key: "role", Value: ""}}
}

// blank returns a message of the class with every field at its default.
func (c *class) blank(content any) message {
	return message{class: c, fields: ordered.FromEntries(append([]ordered.Entry{
		{Key: "content", Value: content},
		{Key: "additional_kwargs", Value: ordered.New()},
		{Key: "response_metadata", Value: ordered.New()},
		{Key: "type", Value: c.kind},
		{Key: "name", Value: nil},
		{Key: "id", Value: nil},
	}, c.own()...))}
}
