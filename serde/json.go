package serde

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pgweft/pgweft/serde/internal/pyjson"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

func loadJSON(data []byte, types *types) (any, error) {
	value, err := pyjson.Parse(data, func(m *ordered.Map) any { return revive(m, types) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return value, nil
}

// envelope is {"lc": 1 or 2, "type": "constructor", "id": [...], ...}: how
// LangChain (1) and older LangGraph (2) put an object into JSON.
type envelope struct {
	module string
	name   string
	args   []any
	kwargs *ordered.Map
	method string
}

// revive returns what an envelope stands for; any other object is itself. An
// envelope that MessagePack has no form for stays the object it is too.
func revive(m *ordered.Map, types *types) any {
	e, ok := readEnvelope(m)
	if !ok {
		return m
	}
	if e.kwargs != nil || len(e.args) == 0 {
		if message, ok := messages.FromConstructor(e.module, e.name, e.kwargs); ok {
			return message
		}
	}
	if data, ok := e.bytes(); ok {
		return data
	}
	c, ok := e.constructor()
	if !ok {
		return m
	}
	return c.resolve(types)
}

func readEnvelope(m *ordered.Map) (envelope, bool) {
	version, _ := ordered.Lookup[int64](m, "lc")
	kind, _ := ordered.Lookup[string](m, "type")
	path, isPath := pathOf(m)
	if version != 1 && version != 2 || kind != "constructor" || !isPath {
		return envelope{}, false
	}
	last := len(path) - 1
	e := envelope{module: strings.Join(path[:last], "."), name: path[last]}
	e.args, _ = ordered.Lookup[[]any](m, "args")
	e.kwargs, _ = ordered.Lookup[*ordered.Map](m, "kwargs")
	e.method = methodOf(m)
	return e, true
}

func pathOf(m *ordered.Map) ([]string, bool) {
	id, _ := ordered.Lookup[[]any](m, "id")
	path := make([]string, len(id))
	for i, step := range id {
		var ok bool
		if path[i], ok = step.(string); !ok {
			return nil, false
		}
	}
	return path, len(path) >= 2
}

// construct is the method that stands for a pydantic model: it was stored as
// [null, "construct"], meaning the constructor or else construct.
const construct = "construct"

func methodOf(m *ordered.Map) string {
	switch method, _ := m.Get("method"); v := method.(type) {
	case string:
		return v
	case []any:
		if len(v) == 2 && v[0] == nil && v[1] == any(construct) {
			return construct
		}
	}
	return ""
}

// bytes are what older LangGraph stored bytes within JSON as.
func (e envelope) bytes() (any, bool) {
	if e.module != "builtins" || e.method != "fromhex" || len(e.args) != 1 {
		return nil, false
	}
	text, _ := e.args[0].(string)
	data, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return nil, false
	case e.name == "bytearray":
		return ByteArray(data), true
	}
	return data, e.name == "bytes"
}

// constructor is the MessagePack form that rebuilds the same object.
func (e envelope) constructor() (constructor, bool) {
	c := constructor{module: e.module, name: e.name}
	switch {
	case len(e.args) > 0 && e.kwargs.Len() > 0:
		return c, false
	case e.isDocument():
		c.kind, c.module, c.payload, c.method = KindPydanticV2, documentModule, e.kwargs, pydanticMethod
	case e.method == construct && e.kwargs != nil:
		c.kind, c.payload, c.method = KindPydanticV2, e.kwargs, pydanticMethod
	case e.method != "" && e.method != construct && len(e.args) == 1:
		c.kind, c.payload, c.method = KindMethod, e.args[0], e.method
	case e.method != "" && e.method != construct:
		return c, false
	case e.kwargs.Len() > 0:
		c.kind, c.payload = KindKwargs, e.kwargs
	case len(e.args) == 1:
		c.kind, c.payload = KindArg, e.args[0]
	default:
		c.kind, c.payload = KindArgs, append([]any{}, e.args...)
	}
	return c, true
}

const documentModule = "langchain_core.documents.base"

// isDocument knows the places LangChain's Document has lived in.
func (e envelope) isDocument() bool {
	known := e.module == documentModule || e.module == "langchain_core.documents" || e.module == "langchain.schema.document"
	return known && e.name == "Document" && e.kwargs != nil
}
