package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// description says which value Go is to make, without the form it has in the database: null, true, false and strings are
// themselves, anything else is an object with one key, its kind. described.py writes them.
type description struct{ json.RawMessage }

// builders make a value of each kind.
var builders map[string]func(json.RawMessage) (any, error)

func init() {
	builders = map[string]func(json.RawMessage) (any, error){
		"int":       fromText(buildInt),
		"float":     fromText(buildFloat),
		"bytes":     fromText(func(s string) (any, error) { return base64.StdEncoding.DecodeString(s) }),
		"bytearray": fromText(buildByteArray),
		"list":      fromItems(func(items []any) any { return items }),
		"set":       fromItems(func(items []any) any { return serde.Set(items) }),
		"frozenset": fromItems(func(items []any) any { return serde.FrozenSet(items) }),
		"deque":     fromItems(func(items []any) any { return serde.Deque(items) }),
		"dict":      buildDict,
		"datetime":  fromText(func(s string) (any, error) { return time.Parse("2006-01-02T15:04:05.999999-07:00", s) }),
		"naive":     fromText(buildNaive),
		"date":      fromText(buildDate),
		"duration":  fromText(buildDuration),
		"uuid":      fromText(func(s string) (any, error) { return uuid.Parse(s) }),
		"decimal":   fromText(func(s string) (any, error) { return serde.Decimal(s), nil }),
		"snapshot":  fromValue(func(v any) any { return serde.DeltaSnapshot{Value: v} }),
		"overwrite": fromValue(func(v any) any { return serde.Overwrite{Value: v} }),
		"send":      buildSend,
		"message":   buildMessage,
	}
}

func (d description) build() (any, error) {
	text := bytes.TrimSpace(d.RawMessage)
	if len(text) == 0 || text[0] != '{' {
		var plain any
		err := json.Unmarshal(text, &plain)
		return plain, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	for kind, content := range object {
		if builder, known := builders[kind]; known && len(object) == 1 {
			return builder(content)
		}
	}
	return nil, fmt.Errorf("%w: %s describes no value", checkpoint.ErrInvalidArgument, text)
}

func buildAll(list []description) ([]any, error) {
	items := make([]any, len(list))
	for i, d := range list {
		var err error
		if items[i], err = d.build(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func fromText(build func(string) (any, error)) func(json.RawMessage) (any, error) {
	return func(content json.RawMessage) (any, error) {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		return build(text)
	}
}

func fromItems(build func([]any) any) func(json.RawMessage) (any, error) {
	return func(content json.RawMessage) (any, error) {
		var list []description
		if err := json.Unmarshal(content, &list); err != nil {
			return nil, err
		}
		items, err := buildAll(list)
		return build(items), err
	}
}

func fromValue(build func(any) any) func(json.RawMessage) (any, error) {
	return func(content json.RawMessage) (any, error) {
		inner, err := description{content}.build()
		return build(inner), err
	}
}

func buildInt(text string) (any, error) {
	number, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, fmt.Errorf("%w: %q is no integer", checkpoint.ErrInvalidArgument, text)
	}
	return number, nil
}

// buildFloat reads the bits, in hexadecimal, so that every NaN and zero is what it was.
func buildFloat(text string) (any, error) {
	bits, err := strconv.ParseUint(text, 16, 64)
	return math.Float64frombits(bits), err
}

func buildByteArray(text string) (any, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	return serde.ByteArray(data), err
}

func buildNaive(text string) (any, error) {
	moment, err := time.Parse("2006-01-02T15:04:05.999999", text)
	return serde.NaiveTime{Time: moment}, err
}

func buildDate(text string) (any, error) {
	day, err := time.Parse(time.DateOnly, text)
	return serde.Date{Year: day.Year(), Month: day.Month(), Day: day.Day()}, err
}

func buildDuration(text string) (any, error) {
	microseconds, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(microseconds) * time.Microsecond, err
}

func buildDict(content json.RawMessage) (any, error) {
	var pairs [][2]description
	if err := json.Unmarshal(content, &pairs); err != nil {
		return nil, err
	}
	dict := ordered.New()
	for _, pair := range pairs {
		entry, err := buildAll(pair[:])
		if err != nil {
			return nil, err
		}
		if number, ok := entry[0].(*big.Int); ok {
			entry[0] = number.Int64()
		}
		dict.Set(entry[0], entry[1])
	}
	return dict, nil
}

func buildSend(content json.RawMessage) (any, error) {
	var send struct {
		Node string      `json:"node"`
		Arg  description `json:"arg"`
	}
	if err := json.Unmarshal(content, &send); err != nil {
		return nil, err
	}
	arg, err := send.Arg.build()
	return serde.Send{Node: send.Node, Arg: arg}, err
}

// buildMessage uses the constructors that a Go program would.
func buildMessage(content json.RawMessage) (any, error) {
	var m struct {
		Role      string          `json:"role"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		ToolCalls []messageCall   `json:"tool_calls"`
		CallID    string          `json:"call_id"`
		Usage     *messages.Usage `json:"usage"`
	}
	if err := decode(content, &m); err != nil {
		return nil, err
	}
	options := []messages.Option{messages.WithID(m.ID)}
	if m.Usage != nil {
		options = append(options, messages.WithUsage(*m.Usage))
	}
	var calls []messages.ToolCall
	for _, call := range m.ToolCalls {
		args, err := call.Args.build()
		if err != nil {
			return nil, err
		}
		calls = append(calls, messages.ToolCall{Name: call.Name, ID: call.ID, Args: args.(*ordered.Map)})
	}
	if len(calls) > 0 {
		options = append(options, messages.WithToolCalls(calls...))
	}
	switch m.Role {
	case "human":
		return messages.Human(m.Text, options...), nil
	case "ai":
		return messages.AI(m.Text, options...), nil
	case "system":
		return messages.System(m.Text, options...), nil
	case "tool":
		return messages.Tool(m.Text, m.CallID, options...), nil
	case "remove":
		return messages.Remove(m.ID), nil
	}
	return nil, fmt.Errorf("%w: there is no role %q", checkpoint.ErrInvalidArgument, m.Role)
}

type messageCall struct {
	Name string      `json:"name"`
	ID   string      `json:"id"`
	Args description `json:"args"`
}
