package serde

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry maps Python classes to Go types, both ways. It is safe for
// concurrent use; registering affects serializers that already use it.
type Registry struct {
	mu    sync.Mutex
	types atomic.Pointer[types]
}

type class struct{ module, name string }

// types is one state of a registry. It is never changed, only replaced, so that
// readers need no lock.
type types struct {
	readers map[class]func(*Object) (any, bool)
	writers map[reflect.Type]func(any) (*Object, error)
}

var defaultRegistry = NewRegistry()

// NewRegistry returns a registry without types of its own, to be filled with
// RegisterIn and used with New. The built-in types need no registering.
func NewRegistry() *Registry {
	r := &Registry{}
	r.types.Store(&types{})
	return r
}

func (r *Registry) current() *types { return r.types.Load() }

// Register makes Default decode the Python class module.name to a T and write a
// T as that class. It is meant for init functions: it changes what the whole
// program reads. Use RegisterIn to keep a type to one serializer.
//
// read gets the object as stored. If it returns false, because something in it
// does not fit a T, the value stays an *Object and nothing is lost. write
// returns the object to store; an error fails the Dump. Register returns an
// error where the class or T is built in or already registered.
func Register[T any](module, name string, read func(*Object) (T, bool), write func(T) (*Object, error)) error {
	return RegisterIn(defaultRegistry, module, name, read, write)
}

// RegisterIn is Register for a registry of one's own.
func RegisterIn[T any](r *Registry, module, name string, read func(*Object) (T, bool), write func(T) (*Object, error)) error {
	if read == nil || write == nil {
		return errors.New("serde: Register needs both a read and a write function")
	}
	goType := reflect.TypeFor[T]()
	if goType.Kind() == reflect.Interface {
		return fmt.Errorf("serde: cannot register the interface %v, register the types behind it", goType)
	}
	key := class{module, name}
	if isBuiltin(key) {
		return fmt.Errorf("serde: %s.%s is built in", module, name)
	}
	if isBuiltinType(goType) {
		return fmt.Errorf("serde: %v is built in, register a type of your own", goType)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.current()
	if _, taken := old.readers[key]; taken {
		return fmt.Errorf("serde: %s.%s is already registered", module, name)
	}
	if _, taken := old.writers[goType]; taken {
		return fmt.Errorf("serde: %v is already registered", goType)
	}
	r.types.Store(old.with(key, goType,
		func(o *Object) (any, bool) { return read(o) },
		func(v any) (*Object, error) { return write(v.(T)) }))
	return nil
}

func (t *types) with(key class, goType reflect.Type, read func(*Object) (any, bool), write func(any) (*Object, error)) *types {
	next := &types{readers: maps.Clone(t.readers), writers: maps.Clone(t.writers)}
	if next.readers == nil {
		next.readers = map[class]func(*Object) (any, bool){}
		next.writers = map[reflect.Type]func(any) (*Object, error){}
	}
	next.readers[key] = read
	next.writers[goType] = write
	return next
}

func isBuiltin(key class) bool {
	_, ok := builtins[key]
	return ok || strings.HasPrefix(key.module, "langchain_core.messages.")
}

// isBuiltinType asks the encoder itself, so that the two cannot disagree.
func isBuiltinType(t reflect.Type) bool {
	b := NewBuffer()
	defer b.Release()
	e := &b.encoder
	e.types = &types{}
	known, _ := e.builtin(reflect.Zero(t).Interface())
	return known
}
