package messages

import (
	"slices"

	"github.com/pgweft/pgweft/serde/internal/pyjson"
	"github.com/pgweft/pgweft/serde/ordered"
)

// ToolCall is a model's request to call a tool.
type ToolCall struct {
	Name string
	Args *ordered.Map
	// ID ties the ToolMessage that answers to the call; "" is Python's None.
	ID string
}

// InvalidToolCall is a request to call a tool that could not be parsed. An
// empty string is Python's None.
type InvalidToolCall struct {
	ID    string
	Name  string
	Args  string
	Error string
}

// Usage is how many tokens a model call took.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
	// InputTokenDetails says what the input was: "audio", "cache_creation",
	// "cache_read" and what a provider adds. Nil where not recorded.
	InputTokenDetails map[string]int64
	// OutputTokenDetails says what the output was: "audio", "reasoning" and what
	// a provider adds. Nil where not recorded.
	OutputTokenDetails map[string]int64
}

// ToolCalls are the calls the model asks for.
func (m *AIMessage) ToolCalls() []ToolCall {
	return mapsIn(m.fields, "tool_calls", func(call *ordered.Map) ToolCall {
		args, _ := ordered.Lookup[*ordered.Map](call, "args")
		return ToolCall{Name: textIn(call, "name"), Args: args, ID: textIn(call, "id")}
	})
}

// InvalidToolCalls are the calls that could not be parsed.
func (m *AIMessage) InvalidToolCalls() []InvalidToolCall {
	return mapsIn(m.fields, "invalid_tool_calls", func(call *ordered.Map) InvalidToolCall {
		return InvalidToolCall{
			ID: textIn(call, "id"), Name: textIn(call, "name"), Args: textIn(call, "args"), Error: textIn(call, "error"),
		}
	})
}

// Usage returns the token counts, and whether there are any.
func (m *AIMessage) Usage() (Usage, bool) {
	usage := m.mapping("usage_metadata")
	if usage == nil {
		return Usage{}, false
	}
	return Usage{
		InputTokens:        countIn(usage, "input_tokens"),
		OutputTokens:       countIn(usage, "output_tokens"),
		TotalTokens:        countIn(usage, "total_tokens"),
		InputTokenDetails:  countsIn(usage, "input_token_details"),
		OutputTokenDetails: countsIn(usage, "output_token_details"),
	}, true
}

func mapsIn[T any](fields *ordered.Map, name string, convert func(*ordered.Map) T) []T {
	items, _ := ordered.Lookup[[]any](fields, name)
	var converted []T
	for _, item := range items {
		if m, ok := item.(*ordered.Map); ok {
			converted = append(converted, convert(m))
		}
	}
	return converted
}

func textIn(m *ordered.Map, key string) string {
	text, _ := ordered.Lookup[string](m, key)
	return text
}

func countIn(m *ordered.Map, key string) int64 {
	count, _ := ordered.Lookup[int64](m, key)
	return count
}

func countsIn(m *ordered.Map, key string) map[string]int64 {
	details, ok := ordered.Lookup[*ordered.Map](m, key)
	if !ok {
		return nil
	}
	counts := make(map[string]int64, details.Len())
	for name, value := range details.All() {
		if name, ok := name.(string); ok {
			if count, ok := value.(int64); ok {
				counts[name] = count
			}
		}
	}
	return counts
}

// The key orders below are those of LangChain's TypedDicts: pydantic writes
// their keys in the order of the declaration.

func (c ToolCall) fields() *ordered.Map {
	args := c.Args
	if args == nil {
		args = ordered.New()
	}
	return ordered.FromEntries([]ordered.Entry{
		{Key: "name", Value: c.Name},
		{Key: "args", Value: args},
		{Key: "id", Value: optional(c.ID)},
		{Key: "type", Value: "tool_call"},
	})
}

func (c InvalidToolCall) fields() *ordered.Map {
	return ordered.FromEntries([]ordered.Entry{
		{Key: "type", Value: "invalid_tool_call"},
		{Key: "id", Value: optional(c.ID)},
		{Key: "name", Value: optional(c.Name)},
		{Key: "args", Value: optional(c.Args)},
		{Key: "error", Value: optional(c.Error)},
	})
}

func (u Usage) fields() *ordered.Map {
	fields := ordered.New().
		Set("input_tokens", u.InputTokens).
		Set("output_tokens", u.OutputTokens).
		Set("total_tokens", u.TotalTokens)
	if u.InputTokenDetails != nil {
		fields.Set("input_token_details", details(u.InputTokenDetails, "audio", "cache_creation", "cache_read"))
	}
	if u.OutputTokenDetails != nil {
		fields.Set("output_token_details", details(u.OutputTokenDetails, "audio", "reasoning"))
	}
	return fields
}

// details writes the declared keys first, then the provider's own by name.
func details(counts map[string]int64, declared ...string) *ordered.Map {
	fields := ordered.New()
	for _, name := range declared {
		if count, ok := counts[name]; ok {
			fields.Set(name, count)
		}
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fields.Set(name, counts[name])
	}
	return fields
}

func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// adoptProviderCalls fills the tool calls from the raw ones an OpenAI-shaped
// provider left in additional_kwargs, as LangChain does when a message is made
// with those alone.
func (m *AIMessage) adoptProviderCalls() {
	if len(m.ToolCalls()) > 0 || len(m.InvalidToolCalls()) > 0 {
		return
	}
	raw, _ := ordered.Lookup[[]any](m.AdditionalKwargs(), "tool_calls")
	if len(raw) == 0 {
		return
	}
	calls, invalid := []any{}, []any{}
	for _, item := range raw {
		call, _ := item.(*ordered.Map)
		function, ok := ordered.Lookup[*ordered.Map](call, "function")
		if !ok {
			continue
		}
		id, name, text := textIn(call, "id"), textIn(function, "name"), textIn(function, "arguments")
		if args, ok := parseArgs(text); ok {
			calls = append(calls, ToolCall{Name: name, Args: args, ID: id}.fields())
			continue
		}
		broken := InvalidToolCall{ID: id, Name: name}.fields()
		invalid = append(invalid, broken.Set("args", text))
	}
	m.fields.Set("tool_calls", calls).Set("invalid_tool_calls", invalid)
}

func parseArgs(text string) (*ordered.Map, bool) {
	value, err := pyjson.Parse([]byte(text), nil)
	if err != nil {
		return nil, false
	}
	args, ok := value.(*ordered.Map)
	return args, ok || value == nil
}
