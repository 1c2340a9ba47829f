package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value string
		want  []string
	}{
		"a primitive":                    {`"你好"`, []string{`"你好"`}},
		"a short object":                 {`{"age": 28, "n": 12345678901234567890}`, []string{`{"age": 28, "n": 12345678901234567890}`}},
		"an empty list":                  {`[]`, []string{`[]`}},
		"a plain message":                {`{"role": "user", "content": "hi"}`, []string{"user: hi"}},
		"an object that only has a role": {`{"role": "admin"}`, []string{`{"role": "admin"}`}},
		"a list in which not all are messages": {
			`[{"role": "user", "content": "hi"}, 1]`, []string{`[{"role": "user", "content": "hi"}, 1]`},
		},
		"messages from MessagePack": {
			`[{"lc_type": "langchain_core.messages.system.SystemMessage", "content": "Be kind."},
			{"lc_type": "langchain_core.messages.ai.AIMessageChunk", "type": "ai", "content": "one\ntwo",
				"tool_calls": [{"name": "f", "args": {"x": 1}, "id": "c"}]},
			{"lc_type": "langchain_core.messages.tool.ToolMessage", "name": "f", "content": ""},
			{"lc_type": "langchain_core.messages.modifier.RemoveMessage", "id": "m1", "content": ""},
			{"lc_type": "langchain_core.messages.chat.ChatMessage", "role": "旁白", "content": "…"}]`,
			[]string{"system: Be kind.", "ai: one", "  two", `  → f {"x": 1}`, "tool (f):", "remove: m1", "旁白: …"},
		},
		"messages from LangChain's JSON": {
			`[{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
				"kwargs": {"content": "hello", "id": "m1"}}]`,
			[]string{"human: hello"},
		},
		"content in blocks": {
			`[{"role": "user", "content": [{"type": "text", "text": "look:"}, {"type": "image_url", "image_url": {}}, "ok"]}]`,
			[]string{"user: look:", "  [image_url]", "  ok"},
		},
		"a constructor that is no message": {
			`{"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "args": []}`,
			[]string{`{"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "args": []}`},
		},
		"text that would control a terminal": {
			`{"role": "user", "content": "a\u001b[31mb\u0085c\td"}`, []string{`user: a\x1b[31mb\x85c` + "\td"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, readable(json.RawMessage(test.value)))
		})
	}
}

func TestWideJSONIsIndented(t *testing.T) {
	t.Parallel()
	value := `{"a": "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十", "b": 1}`
	require.Len(t, readable(json.RawMessage(value)), 4, "50 wide characters take 100 columns")
}
