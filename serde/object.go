package serde

import (
	"fmt"

	"github.com/pgweft/pgweft/serde/ordered"
)

// Kind says how Python rebuilds an Object: the code of the MessagePack
// extension it is stored as.
type Kind int8

// The kinds LangGraph writes.
const (
	// KindArg calls Module.Name with one argument: enums, sets, UUIDs.
	KindArg Kind = 0
	// KindArgs calls it with positional arguments: paths, patterns, dates.
	KindArgs Kind = 1
	// KindKwargs calls it with keyword arguments: dataclasses, named tuples.
	KindKwargs Kind = 2
	// KindMethod calls a class method with one argument: datetime.fromisoformat.
	KindMethod Kind = 3
	// KindPydanticV1 and KindPydanticV2 are pydantic models by their fields.
	KindPydanticV1 Kind = 4
	KindPydanticV2 Kind = 5

	kindNDArray Kind = 6
	kindDelta   Kind = 7
)

// pydanticMethod is the method name LangGraph stores with pydantic v2 models.
const pydanticMethod = "model_validate_json"

// Object is a Python object that has no Go type. It keeps what Python needs to
// rebuild it and is written back as the same bytes; nothing is ever imported or
// run for it.
type Object struct {
	// Module and Name are the Python class or function, such as "re", "compile".
	Module string
	Name   string
	Kind   Kind
	// Args are the positional arguments: exactly one for KindArg and KindMethod,
	// any number for KindArgs. The other kinds use Kwargs, except for a pydantic
	// RootModel of something other than a dict, which has nil Kwargs and its
	// value as the only one of Args.
	Args []any
	// Kwargs are the keyword arguments or fields, in Python's order.
	Kwargs *ordered.Map
	// Method is the class method for KindMethod, and "model_validate_json" for
	// KindPydanticV2.
	Method string
}

// Ext is a MessagePack extension that is none of LangGraph's, or has a payload
// LangGraph would not write. It is kept as it is.
type Ext struct {
	Code int8
	Data []byte
}

// ClassName is the full Python name, such as "re.compile".
func (o *Object) ClassName() string { return o.Module + "." + o.Name }

// payload is what the extension holds beside module, name and method.
func (o *Object) payload() (any, error) {
	switch {
	case o.Kind < KindArg || o.Kind > KindPydanticV2:
		return nil, fmt.Errorf("serde.Object %s has the unknown kind %d", o.ClassName(), o.Kind)
	case o.Kind == KindArgs && o.Kwargs == nil:
		return o.Args, nil
	case o.hasFields() && o.Kwargs != nil && len(o.Args) == 0:
		return o.Kwargs, nil
	case o.Kind != KindArgs && o.Kwargs == nil && len(o.Args) == 1:
		return o.Args[0], nil
	}
	return nil, fmt.Errorf("serde.Object %s of kind %d has %d Args and %d Kwargs, see its documentation for what the kind takes",
		o.ClassName(), o.Kind, len(o.Args), o.Kwargs.Len())
}

// hasFields reports whether the kind takes Kwargs.
func (o *Object) hasFields() bool {
	return o.Kind == KindKwargs || o.Kind == KindPydanticV1 || o.Kind == KindPydanticV2
}

// hasMethod reports whether the kind stores a method name.
func (k Kind) hasMethod() bool { return k == KindMethod || k == KindPydanticV2 }

// constructor is an Object being read, before it is known whether one is needed.
type constructor struct {
	kind    Kind
	module  string
	name    string
	payload any
	method  string
}

func (c constructor) object() *Object {
	o := &Object{Module: c.module, Name: c.name, Kind: c.kind, Method: c.method}
	switch payload := c.payload.(type) {
	case *ordered.Map:
		if o.hasFields() {
			o.Kwargs = payload
			return o
		}
	case []any:
		if c.kind == KindArgs {
			o.Args = payload
			return o
		}
	}
	o.Args = []any{c.payload}
	return o
}

// resolve turns a constructor into the Go type it stands for, or an Object.
func (c constructor) resolve(types *types) any {
	if read, ok := builtins[class{c.module, c.name}]; ok {
		if value, ok := read(c); ok {
			return value
		}
	}
	if c.kind == KindPydanticV2 && c.method == pydanticMethod {
		if message, ok := messageOf(c); ok {
			return message
		}
	}
	o := c.object()
	if read, ok := types.readers[class{c.module, c.name}]; ok {
		if value, ok := read(o); ok {
			return value
		}
	}
	return o
}
