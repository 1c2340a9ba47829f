package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// What is shown of a value without --full.
const (
	shownLines   = 20
	shownColumns = 200
)

// oneLine is how wide JSON may be to stay on one line.
const oneLine = 100

// readable writes a decoded value for people, line by line: messages as who said what, short JSON on one line, other JSON
// indented.
func readable(value json.RawMessage) []string {
	value = withoutSnapshot(value)
	if messages, ok := parseMessages(value); ok {
		return messageLines(messages)
	}
	if s := string(value); text.StringWidth(s) <= oneLine {
		return []string{printable(s)}
	}
	return indented(value)
}

// shown is readable, shortened unless it is wanted in full. Of a conversation the end is what matters.
func shown(value json.RawMessage, full bool) []string {
	messages, ok := parseMessages(withoutSnapshot(value))
	if !ok || full {
		return cut(readable(value), full)
	}
	lines := messageLines(messages)
	if len(lines) <= shownLines+1 {
		return cut(lines, full)
	}
	rest := len(lines) - shownLines
	return append([]string{fmt.Sprintf("… %d earlier lines (--full shows them)", rest)}, cut(lines[rest:], full)...)
}

// withoutSnapshot is the value of a delta channel inside the constructor that marks a snapshot of it.
func withoutSnapshot(value json.RawMessage) json.RawMessage {
	var snapshot struct {
		Class string            `json:"lc_type"`
		Args  []json.RawMessage `json:"args"`
	}
	if json.Unmarshal(value, &snapshot) == nil && strings.HasSuffix(snapshot.Class, "._DeltaSnapshot") && len(snapshot.Args) == 1 {
		return snapshot.Args[0]
	}
	return value
}

func messageLines(messages []message) []string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.lines()...)
	}
	return lines
}

func indented(value json.RawMessage) []string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		return []string{printable(string(value))}
	}
	return strings.Split(printable(b.String()), "\n")
}

// cut shortens lines unless they are wanted in full, and says what it left out.
func cut(lines []string, full bool) []string {
	if full {
		return lines
	}
	// A note that one line is missing would take as much room as the line.
	if len(lines) > shownLines+1 {
		rest := len(lines) - shownLines
		lines = append(append([]string{}, lines[:shownLines]...), fmt.Sprintf("… %d more lines (--full shows them)", rest))
	}
	shortened := make([]string, len(lines))
	for i, line := range lines {
		shortened[i] = cutLine(line)
	}
	return shortened
}

func cutLine(line string) string {
	if text.StringWidth(line) <= shownColumns {
		return line
	}
	kept := text.Trim(line, shownColumns)
	rest := len([]rune(line)) - len([]rune(kept))
	return fmt.Sprintf("%s… %d more characters (--full shows them)", kept, rest)
}

// message is what a person wants to see of a LangChain message or of one of the plain {"role", "content"} kind.
type message struct {
	Role      string          `json:"role"`
	Type      string          `json:"type"`
	Class     string          `json:"lc_type"`
	Name      string          `json:"name"`
	ID        json.RawMessage `json:"id"`
	Content   json.RawMessage `json:"content"`
	Kwargs    json.RawMessage `json:"kwargs"`
	ToolCalls []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tool_calls"`
}

func parseMessages(value json.RawMessage) ([]message, bool) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		m, ok := parseMessage(value)
		return []message{m}, ok
	}
	messages := make([]message, len(list))
	for i, element := range list {
		m, ok := parseMessage(element)
		if !ok {
			return nil, false
		}
		messages[i] = m
	}
	return messages, len(messages) > 0
}

// parseMessage knows three shapes: the constructor that value_to_jsonb makes of MessagePack, the envelope of LangChain's JSON,
// and plain role and content.
func parseMessage(value json.RawMessage) (message, bool) {
	var m message
	if json.Unmarshal(value, &m) != nil {
		return m, false
	}
	if m.Type == "constructor" && m.Kwargs != nil {
		var path []string
		if json.Unmarshal(m.ID, &path) != nil || len(path) == 0 {
			return m, false
		}
		class := path[len(path)-1]
		m = message{}
		if json.Unmarshal(value, &struct {
			Kwargs *message `json:"kwargs"`
		}{&m}) != nil {
			return m, false
		}
		m.Class = class
	}
	if role, ok := roleOf(m.Class); ok {
		// A ChatMessage names its speaker itself.
		if role != "chat" || m.Role == "" {
			m.Role = role
		}
		return m, true
	}
	return m, m.Class == "" && m.Role != "" && m.Content != nil
}

// roleOf is the speaker in the name of a message class: langchain_core.messages.human.HumanMessage is human.
func roleOf(class string) (string, bool) {
	name := strings.TrimSuffix(class[strings.LastIndex(class, ".")+1:], "Chunk")
	role, ok := strings.CutSuffix(name, "Message")
	return strings.ToLower(role), ok
}

func (m *message) lines() []string {
	role := m.Role
	if m.Name != "" {
		role += " (" + m.Name + ")"
	}
	content := m.text()
	if m.Role == "remove" {
		var id string
		_ = json.Unmarshal(m.ID, &id) // shown as it is, or not at all
		content = id
	}
	var lines []string
	for i, line := range strings.Split(printable(content), "\n") {
		if i == 0 {
			line = strings.TrimRight(cell(role)+": "+line, " ")
		} else {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	for _, call := range m.ToolCalls {
		lines = append(lines, fmt.Sprintf("  → %s %s", cell(call.Name), printable(string(call.Args))))
	}
	return lines
}

// text is the content: a string, or a list of blocks of which those that are no text are named by their type.
func (m *message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var blocks []json.RawMessage
	if json.Unmarshal(m.Content, &blocks) != nil {
		return string(m.Content)
	}
	parts := make([]string, len(blocks))
	for i, block := range blocks {
		parts[i] = blockText(block)
	}
	return strings.Join(parts, "\n")
}

func blockText(block json.RawMessage) string {
	var s string
	if json.Unmarshal(block, &s) == nil {
		return s
	}
	var typed struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(block, &typed) != nil || typed.Type == "" {
		return string(block)
	}
	if typed.Text != nil {
		return *typed.Text
	}
	return "[" + typed.Type + "]"
}
