package messages_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// The values below are those of the same names in ../testdata/generate.py.
var (
	parts = []any{
		"plain",
		messages.TextPart("some text"),
		ordered.New().Set("type", "image_url").Set("image_url",
			ordered.New().Set("url", "data:image/png;base64,AAAA").Set("detail", "low")),
		messages.TextPart("end").Set("cache_control", ordered.New().Set("type", "ephemeral")),
	}
	call = messages.ToolCall{
		Name: "search",
		Args: ordered.New().Set("query", "weft").Set("limit", 3).
			Set("nested", ordered.New().Set("z", []any{1, nil}).Set("a", true)),
		ID: "call-1",
	}
	usage = messages.Usage{InputTokens: 350, OutputTokens: 240, TotalTokens: 590}
)

func providerCalls() *ordered.Map {
	function := func(id, name, arguments string) any {
		return ordered.New().Set("id", id).Set("type", "function").
			Set("function", ordered.New().Set("name", name).Set("arguments", arguments))
	}
	return ordered.New().Set("tool_calls", []any{
		function("call-1", "search", `{"q": "weft", "n": 2}`),
		function("call-2", "search", `{"q": `),
		function("call-3", "now", "null"),
	})
}

// common are the messages every simple class has a vector of.
func common[M messages.Message](class string, make func(string, ...messages.Option) M) map[string]messages.Message {
	made := map[string]messages.Message{
		"text":        make("hello"),
		"empty":       make(""),
		"unicode":     make("织机 🧵\x00"),
		"id and name": make("hello", messages.WithID("m-1"), messages.WithName("ada")),
		"parts":       make("", messages.WithParts(parts...)),
		"no parts":    make("", messages.WithParts()),
		"metadata": make("x",
			messages.WithAdditionalKwargs(ordered.New().Set("z", 1).Set("a", []any{nil})),
			messages.WithResponseMetadata(ordered.New().Set("model", "m").Set("n", 1.5))),
		"extra fields": make("x",
			messages.WithField("zeta", 1),
			messages.WithField("alpha", ordered.New().Set("b", 2).Set("a", 1)),
			messages.WithID("1")),
		"long":            make(strings.Repeat("thread ", 40)),
		"longer than 64K": make(strings.Repeat("thread ", 10000)),
	}
	named := map[string]messages.Message{}
	for name, m := range made {
		named["message/"+class+"/"+name] = m
	}
	return named
}

func constructed() map[string]messages.Message {
	all := map[string]messages.Message{
		"message/AIMessage/tool call": messages.AI("", messages.WithToolCalls(call)),
		"message/AIMessage/tool calls": messages.AI("let me see",
			messages.WithToolCalls(call, messages.ToolCall{Name: "now"}), messages.WithID("2")),
		"message/AIMessage/invalid tool call": messages.AI("", messages.WithInvalidToolCalls(
			messages.InvalidToolCall{Name: "f", Args: "{", ID: "i", Error: "bad JSON"})),
		"message/AIMessage/bare invalid tool call": messages.AI("",
			messages.WithInvalidToolCalls(messages.InvalidToolCall{Name: "f"})),
		"message/AIMessage/usage": messages.AI("x", messages.WithUsage(usage)),
		"message/AIMessage/usage details": messages.AI("x", messages.WithUsage(messages.Usage{
			InputTokens: 350, OutputTokens: 240, TotalTokens: 590,
			InputTokenDetails:  map[string]int64{"cache_read": 1, "flex": 2, "audio": 0, "cache_creation": 200},
			OutputTokenDetails: map[string]int64{"zz": 1, "reasoning": 2, "audio": 3, "aa": 4},
		})),
		"message/AIMessage/usage no details": messages.AI("x", messages.WithUsage(messages.Usage{
			InputTokens: 350, OutputTokens: 240, TotalTokens: 590, InputTokenDetails: map[string]int64{},
		})),
		"message/AIMessage/provider calls": messages.AI("", messages.WithAdditionalKwargs(providerCalls())),
		"message/AIMessage/everything": messages.AI("",
			messages.WithParts(parts...), messages.WithID("run-1"), messages.WithName("loom"),
			messages.WithToolCalls(call), messages.WithUsage(usage),
			messages.WithAdditionalKwargs(ordered.New().Set("refusal", nil)),
			messages.WithResponseMetadata(ordered.New().
				Set("finish_reason", "tool_calls").Set("logprobs", nil).Set("headers", ordered.New()))),
		"message/ToolMessage/text": messages.Tool("42", "call-1"),
		"message/ToolMessage/error": messages.Tool("no", "call-1", messages.WithStatus(messages.StatusError),
			messages.WithName("search"), messages.WithID("t")),
		"message/ToolMessage/artifact": messages.Tool("ok", "c", messages.WithArtifact(
			ordered.New().Set("rows", []any{[]any{1, 2}}).Set("raw", []byte{0}))),
		"message/ToolMessage/parts":    messages.Tool("", "c", messages.WithParts(parts...)),
		"message/ToolMessage/coerced":  messages.Tool("3", "7"),
		"message/FunctionMessage/text": messages.Function("42", "f"),
		"message/ChatMessage/text":     messages.Chat("hi", "critic"),
		"message/RemoveMessage/id":     messages.Remove("m-1"),
		"message/RemoveMessage/all":    messages.Remove(messages.RemoveAll),
	}
	for _, group := range []map[string]messages.Message{
		common("HumanMessage", messages.Human), common("AIMessage", messages.AI), common("SystemMessage", messages.System),
	} {
		for name, m := range group {
			all[name] = m
		}
	}
	return all
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

type vector struct{ Name, Type, Data, SHA256 string }

func vectors(t *testing.T) map[string]vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "vectors.json"))
	require.NoError(t, err)
	var rows []vector
	require.NoError(t, json.Unmarshal(text, &rows))
	byName := map[string]vector{}
	for _, row := range rows {
		byName[row.Name] = row
	}
	return byName
}

// load returns the message Python wrote under a name.
func load(t *testing.T, name string) messages.Message {
	t.Helper()
	v, ok := vectors(t)[name]
	require.True(t, ok, "there is a vector %q", name)
	data, err := hex.DecodeString(v.Data)
	require.NoError(t, err)
	value, err := serde.Default().Load(serde.Typed{Type: v.Type, Data: data})
	require.NoError(t, err)
	message, ok := value.(messages.Message)
	require.True(t, ok, "%T is a message", value)
	return message
}

func TestAMessageMadeInGoIsTheBytesOfTheSameMessageMadeInPython(t *testing.T) {
	t.Parallel()
	written := vectors(t)
	for name, message := range constructed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, ok := written[name]
			require.True(t, ok, "there is a vector")
			typed, err := serde.Default().Dump(message)
			require.NoError(t, err)
			require.Equal(t, v.Type, typed.Type)
			if v.SHA256 != "" {
				require.Equal(t, v.SHA256, sha256Hex(typed.Data))
				return
			}
			require.Equal(t, v.Data, hex.EncodeToString(typed.Data))
		})
	}
}

// The vectors no constructor makes: pieces of streams, the base class, and
// fields whose names only WithField could set.
func isNotConstructed(name string) bool {
	class := strings.Split(name, "/")[1]
	switch name {
	case "message/AIMessage/usage extra", "message/ToolMessage/object artifact":
		return true
	}
	return strings.HasSuffix(class, "Chunk") || class == "BaseMessage"
}

func TestEveryMessageVectorIsMadeInGoToo(t *testing.T) {
	t.Parallel()
	made := constructed()
	for name := range vectors(t) {
		if strings.HasPrefix(name, "message/") && !isNotConstructed(name) {
			require.Contains(t, made, name)
		}
	}
}

func TestAMessageTellsWhatPythonPutIntoIt(t *testing.T) {
	t.Parallel()
	m := load(t, "message/AIMessage/everything")
	ai, ok := m.(*messages.AIMessage)
	require.True(t, ok)
	require.Equal(t, messages.RoleAI, ai.Role())
	require.Equal(t, "run-1", ai.ID())
	require.Equal(t, "loom", ai.Name())
	require.Equal(t, "plainsome textend", ai.Text())
	require.Len(t, ai.Content(), 4)
	require.False(t, ai.IsChunk())
	finish, _ := ai.ResponseMetadata().Get("finish_reason")
	require.Equal(t, "tool_calls", finish)
	require.Equal(t, []any{"refusal"}, ai.AdditionalKwargs().Keys())

	counted, ok := ai.Usage()
	require.True(t, ok)
	require.Equal(t, usage, counted)

	calls := ai.ToolCalls()
	require.Len(t, calls, 1)
	require.Equal(t, "search", calls[0].Name)
	require.Equal(t, "call-1", calls[0].ID)
	require.Equal(t, []any{"query", "limit", "nested"}, calls[0].Args.Keys())
	require.Empty(t, ai.InvalidToolCalls())
}

func TestTokenDetailsAreRead(t *testing.T) {
	t.Parallel()
	ai := load(t, "message/AIMessage/usage details").(*messages.AIMessage)
	counted, ok := ai.Usage()
	require.True(t, ok)
	require.Equal(t, map[string]int64{"audio": 0, "cache_creation": 200, "cache_read": 1, "flex": 2}, counted.InputTokenDetails)
	require.Equal(t, int64(2), counted.OutputTokenDetails["reasoning"])

	without := load(t, "message/AIMessage/text").(*messages.AIMessage)
	_, ok = without.Usage()
	require.False(t, ok)
}

func TestInvalidToolCallsAreRead(t *testing.T) {
	t.Parallel()
	ai := load(t, "message/AIMessage/invalid tool call").(*messages.AIMessage)
	require.Equal(t, []messages.InvalidToolCall{{ID: "i", Name: "f", Args: "{", Error: "bad JSON"}}, ai.InvalidToolCalls())
}

func TestAToolMessageTellsItsCallStatusAndArtifact(t *testing.T) {
	t.Parallel()
	failed := load(t, "message/ToolMessage/error").(*messages.ToolMessage)
	require.Equal(t, messages.RoleTool, failed.Role())
	require.Equal(t, "call-1", failed.ToolCallID())
	require.Equal(t, messages.StatusError, failed.Status())
	require.Nil(t, failed.Artifact())

	document := load(t, "message/ToolMessage/object artifact").(*messages.ToolMessage)
	artifact, ok := document.Artifact().(*ordered.Map)
	require.True(t, ok, "pydantic dumps what is inside a model to a dict")
	text, _ := artifact.Get("page_content")
	require.Equal(t, "text", text)
}

func TestEveryClassIsReadAsItsGoType(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]messages.Message{
		"HumanMessage": &messages.HumanMessage{}, "HumanMessageChunk": &messages.HumanMessage{},
		"AIMessage": &messages.AIMessage{}, "AIMessageChunk": &messages.AIMessage{},
		"SystemMessage": &messages.SystemMessage{}, "SystemMessageChunk": &messages.SystemMessage{},
		"ToolMessage": &messages.ToolMessage{}, "ToolMessageChunk": &messages.ToolMessage{},
		"FunctionMessage": &messages.FunctionMessage{}, "FunctionMessageChunk": &messages.FunctionMessage{},
		"ChatMessage": &messages.ChatMessage{}, "ChatMessageChunk": &messages.ChatMessage{},
	} {
		m := load(t, "message/"+name+"/text")
		require.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", m))
		require.Equal(t, strings.HasSuffix(name, "Chunk"), m.IsChunk(), name)
		_, class := m.Class()
		require.Equal(t, name, class)
	}
	require.Equal(t, "critic", load(t, "message/ChatMessage/text").(*messages.ChatMessage).Speaker())
	require.Equal(t, "f", load(t, "message/FunctionMessage/text").Name())
	require.Equal(t, messages.RoleRemove, load(t, "message/RemoveMessage/id").Role())
}

func TestWithChangesACopyAndKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	original := load(t, "message/HumanMessage/extra fields").(*messages.HumanMessage)
	changed := messages.With(original, messages.WithID("2"))
	require.Equal(t, "1", original.ID())
	require.Equal(t, "2", changed.ID())
	require.Equal(t, original.Fields().Keys(), changed.Fields().Keys())
	zeta, ok := changed.Field("zeta")
	require.True(t, ok)
	require.Equal(t, int64(1), zeta)
	require.False(t, original.Equal(changed))
	require.True(t, original.Equal(messages.With(changed, messages.WithID("1"))))
}

func TestWithWorksOnTheInterface(t *testing.T) {
	t.Parallel()
	var m messages.Message = messages.Tool("42", "call-1")
	changed, ok := messages.With(m, messages.WithID("t")).(*messages.ToolMessage)
	require.True(t, ok)
	require.Equal(t, "t", changed.ID())
	require.Equal(t, "call-1", changed.ToolCallID())
}

func TestEqualComparesClassAndFields(t *testing.T) {
	t.Parallel()
	require.True(t, messages.Human("a").Equal(messages.Human("a")))
	require.False(t, messages.Human("a").Equal(messages.Human("b")))
	require.False(t, messages.Human("a").Equal(messages.System("a")))
	require.False(t, messages.Human("a").Equal(nil))
}

func TestAMessageIsJSONOfItsFields(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(messages.Human("hi", messages.WithID("1")))
	require.NoError(t, err)
	//nolint:testifylint // The order of the keys counts.
	require.Equal(t,
		`{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"1"}`, string(text))
}

func TestNilMetadataIsAnEmptyDict(t *testing.T) {
	t.Parallel()
	m := messages.Human("x", messages.WithAdditionalKwargs(nil), messages.WithResponseMetadata(nil))
	require.True(t, m.Equal(messages.Human("x")))
}

func TestFieldsThatAreNotAMessageAreRefused(t *testing.T) {
	t.Parallel()
	const module = "langchain_core.messages.human"
	fields := func() *ordered.Map { return ordered.New().Set("content", "x") }
	_, ok := messages.FromFields(module, "HumanMessage", fields())
	require.True(t, ok)
	for name, refused := range map[string]func() (messages.Message, bool){
		"another module": func() (messages.Message, bool) { return messages.FromFields("weaver", "HumanMessage", fields()) },
		"another class":  func() (messages.Message, bool) { return messages.FromFields(module, "Human", fields()) },
		"no content":     func() (messages.Message, bool) { return messages.FromFields(module, "HumanMessage", ordered.New()) },
		"a number as id": func() (messages.Message, bool) {
			return messages.FromFields(module, "HumanMessage", fields().Set("id", int64(1)))
		},
		"a list as name": func() (messages.Message, bool) {
			return messages.FromFields(module, "HumanMessage", fields().Set("name", []any{}))
		},
	} {
		_, ok := refused()
		require.False(t, ok, name)
	}
}
