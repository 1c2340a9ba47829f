package serde

import (
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// Plain converts a loaded value, and all it contains, to Go's plain types, for
// people and for encoding/json: dicts and messages become map[string]any, sets
// and deques []any, dates, times, UUIDs and decimals text, durations seconds,
// floats JSON lacks "NaN", "Infinity" and "-Infinity". A dict key that is not a
// string becomes its text. An Object becomes a map with its "class" and its
// "args" or "kwargs". It is for reading: the way back is lost.
func Plain(value any) any {
	switch v := value.(type) {
	case *ordered.Map:
		return plainMap(v)
	case []any:
		return plainItems(v)
	case map[string]any:
		return plainMap(ordered.Sorted(v))
	case float64:
		return plainFloat(v)
	case float32:
		return plainFloat(float64(v))
	case messages.Message:
		return plainMap(v.Fields())
	case Set:
		return plainItems(v)
	case FrozenSet:
		return plainItems(v)
	case Deque:
		return plainItems(v)
	case ByteArray:
		return []byte(v)
	}
	return plainObject(value)
}

func plainObject(value any) any {
	switch v := value.(type) {
	case *Object:
		return v.plain()
	case Ext:
		return map[string]any{"ext": int64(v.Code), "data": v.Data}
	case DeltaSnapshot:
		return Plain(v.Value)
	case Send:
		plain := map[string]any{"node": v.Node, "arg": Plain(v.Arg)}
		if v.Timeout != nil {
			plain["timeout"] = Plain(*v.Timeout)
		}
		return plain
	case TimeoutPolicy:
		return plainMap(v.fields())
	case Interrupt:
		return plainMap(v.fields())
	case Overwrite:
		return map[string]any{overwriteType: Plain(v.Value)}
	case NDArray:
		return map[string]any{"dtype": v.DType, "shape": v.Shape, "order": v.Order, "data": v.Data}
	}
	return plainScalar(value)
}

func plainScalar(value any) any {
	switch v := value.(type) {
	case time.Time:
		if text, err := formatTime(v); err == nil {
			return text
		}
		return v.String()
	case NaiveTime:
		return v.String()
	case Date:
		return v.String()
	case time.Duration:
		return v.Seconds()
	case uuid.UUID:
		return v.String()
	case Decimal:
		return string(v)
	}
	return value
}

func plainMap(m *ordered.Map) any {
	if m == nil {
		return nil
	}
	plain := make(map[string]any, m.Len())
	for key, value := range m.All() {
		plain[ordered.KeyText(key)] = Plain(value)
	}
	return plain
}

func plainItems(items []any) any {
	plain := make([]any, len(items))
	for i, item := range items {
		plain[i] = Plain(item)
	}
	return plain
}

func plainFloat(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}

func (o *Object) plain() any {
	if o == nil {
		return nil
	}
	plain := map[string]any{"class": o.ClassName()}
	if o.Kwargs != nil {
		plain["kwargs"] = plainMap(o.Kwargs)
	} else {
		plain["args"] = plainItems(o.Args)
	}
	return plain
}
