package serde_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// describe gives a Go value the form that testdata/generate.py gives the Python
// value, so that the two can be compared.
func describe(value any) any {
	switch v := value.(type) {
	case nil, bool, string:
		return v
	case int64:
		return tagged("int", strconv.FormatInt(v, 10))
	case uint64:
		return tagged("int", strconv.FormatUint(v, 10))
	case float64:
		return tagged("float", fmt.Sprintf("%016x", math.Float64bits(v)))
	case float32:
		return tagged("float32", fmt.Sprintf("%08x", math.Float32bits(v)))
	case []byte:
		return tagged("bytes", hex.EncodeToString(v))
	case serde.ByteArray:
		return tagged("bytearray", hex.EncodeToString(v))
	case []any:
		return tagged("list", describeItems(v))
	case *ordered.Map:
		return tagged("dict", describeEntries(v))
	case serde.Set:
		return tagged("set", describeItems(v))
	case serde.FrozenSet:
		return tagged("frozenset", describeItems(v))
	case serde.Deque:
		return tagged("deque", describeItems(v))
	case time.Time:
		return tagged("datetime", isoformat(v.Format("2006-01-02T15:04:05.000000"))+offset(v))
	case serde.NaiveTime:
		return tagged("naive", isoformat(v.Time.Format("2006-01-02T15:04:05.000000")))
	case serde.Date:
		return tagged("date", v.String())
	case time.Duration:
		return tagged("duration", strconv.FormatInt(int64(v), 10))
	case uuid.UUID:
		return tagged("uuid", v.String())
	case serde.Decimal:
		return tagged("decimal", string(v))
	}
	return describeObject(value)
}

func describeObject(value any) any {
	switch v := value.(type) {
	case messages.Message:
		module, name := v.Class()
		return tagged("message", map[string]any{"module": module, "name": name, "fields": describeEntries(v.Fields())})
	case *serde.Object:
		described := map[string]any{"kind": float64(v.Kind), "module": v.Module, "name": v.Name, "method": v.Method}
		if v.Kwargs != nil {
			described["kwargs"] = describe(v.Kwargs)
		} else {
			described["args"] = describeItems(v.Args)
		}
		return tagged("object", described)
	case serde.Ext:
		return tagged("ext", map[string]any{"code": float64(v.Code), "data": hex.EncodeToString(v.Data)})
	case serde.Send:
		var timeout any
		if v.Timeout != nil {
			timeout = describe(*v.Timeout)
		}
		return tagged("send", map[string]any{"node": v.Node, "arg": describe(v.Arg), "timeout": timeout})
	case serde.TimeoutPolicy:
		return tagged("timeout", map[string]any{
			"run_timeout": describeSeconds(v.RunTimeout), "idle_timeout": describeSeconds(v.IdleTimeout),
			"refresh_on": v.RefreshOn,
		})
	case serde.Interrupt:
		return tagged("interrupt", map[string]any{"value": describe(v.Value), "id": v.ID, "schema": describe(v.ResponseSchema)})
	case serde.Overwrite:
		return tagged("overwrite", describe(v.Value))
	case serde.DeltaSnapshot:
		return tagged("delta", describe(v.Value))
	case serde.NDArray:
		shape := make([]any, len(v.Shape))
		for i, n := range v.Shape {
			shape[i] = float64(n)
		}
		return tagged("ndarray", map[string]any{
			"dtype": v.DType, "shape": shape, "order": v.Order, "data": hex.EncodeToString(v.Data),
		})
	}
	return fmt.Sprintf("no description of %T", value)
}

func tagged(tag string, value any) any { return map[string]any{tag: value} }

func describeItems(items []any) []any {
	described := make([]any, len(items))
	for i, item := range items {
		described[i] = describe(item)
	}
	return described
}

func describeEntries(m *ordered.Map) []any {
	described := make([]any, 0, m.Len())
	for key, value := range m.All() {
		described = append(described, []any{describe(key), describe(value)})
	}
	return described
}

func describeSeconds(seconds float64) any {
	if seconds == 0 {
		return nil
	}
	return describe(seconds)
}

// isoformat leaves out a fraction of zero, as Python does.
func isoformat(text string) string { return strings.TrimSuffix(text, ".000000") }

func offset(t time.Time) string {
	_, seconds := t.Zone()
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	text := fmt.Sprintf("%s%02d:%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		text += fmt.Sprintf(":%02d", seconds%60)
	}
	return text
}

// expand writes out what generate.py abbreviates.
func expand(described any) any {
	switch v := described.(type) {
	case []any:
		for i := range v {
			v[i] = expand(v[i])
		}
	case map[string]any:
		switch {
		case v["repeat"] != nil:
			return expandRepeat(expand(v["repeat"]), int(v["count"].(float64)))
		case v["counting bytes"] != nil:
			data := make([]byte, int(v["counting bytes"].(float64)))
			for i := range data {
				data[i] = byte(i % 251)
			}
			return tagged("bytes", hex.EncodeToString(data))
		case v["counting dict"] != nil:
			entries := make([]any, int(v["counting dict"].(float64)))
			for i := range entries {
				entries[i] = []any{tagged("int", strconv.Itoa(i)), nil}
			}
			return tagged("dict", entries)
		case v["old interrupt"] != nil:
			old := v["old interrupt"].(map[string]any)
			return tagged("interrupt", map[string]any{"value": old["value"], "id": old["id"], "schema": nil})
		case v["old overwrite"] != nil:
			return tagged("overwrite", v["old overwrite"])
		}
		for key := range v {
			v[key] = expand(v[key])
		}
	}
	return described
}

func expandRepeat(of any, count int) any {
	if text, ok := of.(string); ok {
		return strings.Repeat(text, count)
	}
	unit := of.(map[string]any)["list"].([]any)
	items := make([]any, 0, count*len(unit))
	for range count {
		items = append(items, unit...)
	}
	return tagged("list", items)
}

// build makes the Go value of a description, by the exported API only.
func build(t *testing.T, described any) any {
	t.Helper()
	object, ok := described.(map[string]any)
	if !ok {
		return described
	}
	require.Len(t, object, 1, "a description has one tag")
	for tag, content := range object {
		return buildTagged(t, tag, content)
	}
	return nil
}

func buildTagged(t *testing.T, tag string, content any) any {
	t.Helper()
	switch tag {
	case "int":
		return buildInt(t, content.(string))
	case "float":
		bits, err := strconv.ParseUint(content.(string), 16, 64)
		require.NoError(t, err)
		return math.Float64frombits(bits)
	case "float32":
		bits, err := strconv.ParseUint(content.(string), 16, 32)
		require.NoError(t, err)
		return math.Float32frombits(uint32(bits))
	case "bytes":
		return unhex(t, content)
	case "bytearray":
		return serde.ByteArray(unhex(t, content))
	case "list":
		return buildItems(t, content)
	case "dict":
		return buildEntries(t, content)
	case "set":
		return serde.Set(buildItems(t, content))
	case "frozenset":
		return serde.FrozenSet(buildItems(t, content))
	case "deque":
		return serde.Deque(buildItems(t, content))
	case "datetime":
		return buildTime(t, content.(string))
	case "naive":
		naive, err := time.Parse("2006-01-02T15:04:05.999999", content.(string))
		require.NoError(t, err)
		return serde.NaiveTime{Time: naive}
	case "date":
		date, err := time.Parse(time.DateOnly, content.(string))
		require.NoError(t, err)
		return serde.Date{Year: date.Year(), Month: date.Month(), Day: date.Day()}
	case "duration":
		return time.Duration(buildInt(t, content.(string)).(int64))
	case "uuid":
		return uuid.MustParse(content.(string))
	case "decimal":
		return serde.Decimal(content.(string))
	case "overwrite":
		return serde.Overwrite{Value: build(t, content)}
	case "delta":
		return serde.DeltaSnapshot{Value: build(t, content)}
	}
	return buildObject(t, tag, content.(map[string]any))
}

func buildObject(t *testing.T, tag string, content map[string]any) any {
	t.Helper()
	switch tag {
	case "message":
		module, name := content["module"].(string), content["name"].(string)
		message, ok := messages.FromFields(module, name, buildEntries(t, content["fields"]))
		require.True(t, ok, "%s is a message", name)
		return message
	case "object":
		object := &serde.Object{
			Module: content["module"].(string), Name: content["name"].(string),
			Kind: serde.Kind(content["kind"].(float64)), Method: content["method"].(string),
		}
		if kwargs, ok := content["kwargs"]; ok {
			object.Kwargs = build(t, kwargs).(*ordered.Map)
		} else {
			object.Args = buildItems(t, content["args"])
		}
		return object
	case "ext":
		return serde.Ext{Code: int8(content["code"].(float64)), Data: unhex(t, content["data"])}
	case "send":
		send := serde.Send{Node: content["node"].(string), Arg: build(t, content["arg"])}
		if policy, ok := build(t, content["timeout"]).(serde.TimeoutPolicy); ok {
			send.Timeout = &policy
		}
		return send
	case "timeout":
		run, _ := build(t, content["run_timeout"]).(float64)
		idle, _ := build(t, content["idle_timeout"]).(float64)
		return serde.TimeoutPolicy{RunTimeout: run, IdleTimeout: idle, RefreshOn: content["refresh_on"].(string)}
	case "interrupt":
		return serde.Interrupt{
			Value: build(t, content["value"]), ID: content["id"].(string), ResponseSchema: build(t, content["schema"]),
		}
	case "ndarray":
		array := serde.NDArray{
			DType: content["dtype"].(string), Order: content["order"].(string), Data: unhex(t, content["data"]),
		}
		for _, n := range content["shape"].([]any) {
			array.Shape = append(array.Shape, int64(n.(float64)))
		}
		return array
	}
	require.Failf(t, "unknown tag", "%s", tag)
	return nil
}

func buildInt(t *testing.T, text string) any {
	t.Helper()
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	u, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return u
}

func buildTime(t *testing.T, text string) time.Time {
	t.Helper()
	layout := "2006-01-02T15:04:05.999999-07:00"
	if strings.Count(text, ":") > 3 {
		layout += ":00"
	}
	moment, err := time.Parse(layout, text)
	require.NoError(t, err)
	return moment
}

func buildItems(t *testing.T, content any) []any {
	t.Helper()
	items := make([]any, 0)
	for _, item := range content.([]any) {
		items = append(items, build(t, item))
	}
	return items
}

func buildEntries(t *testing.T, content any) *ordered.Map {
	t.Helper()
	entries := make([]ordered.Entry, 0)
	for _, pair := range content.([]any) {
		entry := pair.([]any)
		entries = append(entries, ordered.Entry{Key: build(t, entry[0]), Value: build(t, entry[1])})
	}
	return ordered.FromEntries(entries)
}

func unhex(t *testing.T, content any) []byte {
	t.Helper()
	data, err := hex.DecodeString(content.(string))
	require.NoError(t, err)
	return data
}

func hexBytes(text string) ([]byte, error) { return hex.DecodeString(text) }
