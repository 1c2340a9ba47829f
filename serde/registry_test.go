package serde_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

// Loom is the Go type of the dataclass of the same name in
// testdata/generate.py.
type Loom struct {
	Name    string
	Threads []any
	Inner   any
}

func readLoom(o *serde.Object) (Loom, bool) {
	name, ok := ordered.Lookup[string](o.Kwargs, "name")
	threads, _ := ordered.Lookup[[]any](o.Kwargs, "threads")
	inner, _ := o.Kwargs.Get("inner")
	return Loom{name, threads, inner}, ok
}

func writeLoom(l Loom) (*serde.Object, error) {
	if l.Name == "" {
		return nil, errors.New("a loom needs a name")
	}
	fields := ordered.New().Set("name", l.Name).Set("threads", l.Threads).Set("inner", l.Inner)
	return &serde.Object{Module: "weaver.models", Name: "Loom", Kind: serde.KindKwargs, Kwargs: fields}, nil
}

func loomSerializer(t *testing.T) serde.Serializer {
	t.Helper()
	registry := serde.NewRegistry()
	require.NoError(t, serde.RegisterIn(registry, "weaver.models", "Loom", readLoom, writeLoom))
	return serde.New(registry)
}

func namedVector(t *testing.T, name string) serde.Typed {
	t.Helper()
	for _, v := range readJSON[vector](t, "vectors.json") {
		if v.Name == name {
			return serde.Typed{Type: v.Type, Data: unhex(t, v.Data)}
		}
	}
	require.Failf(t, "no vector", "%s", name)
	return serde.Typed{}
}

func TestARegisteredClassIsItsGoType(t *testing.T) {
	t.Parallel()
	typed := namedVector(t, "dataclass/nested")
	s := loomSerializer(t)
	value, err := s.Load(typed)
	require.NoError(t, err)
	loom, ok := value.(Loom)
	require.True(t, ok)
	require.Equal(t, "outer", loom.Name)
	inner, ok := loom.Inner.(Loom)
	require.True(t, ok, "what is inside is converted too")
	require.Equal(t, "inner", inner.Name)

	again, err := s.Dump(value)
	require.NoError(t, err)
	require.Equal(t, typed, again)
}

func TestRegisteringInOneRegistryLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	loomSerializer(t)
	value, err := serde.Default().Load(namedVector(t, "dataclass/plain"))
	require.NoError(t, err)
	require.Equal(t, "weaver.models.Loom", value.(*serde.Object).ClassName())
}

func TestWhatTheReadFunctionDeclinesStaysAnObject(t *testing.T) {
	t.Parallel()
	unnamed := &serde.Object{Module: "weaver.models", Name: "Loom", Kind: serde.KindKwargs, Kwargs: ordered.New()}
	value, err := loomSerializer(t).Load(dump(t, unnamed))
	require.NoError(t, err)
	require.Equal(t, unnamed, value)
}

func TestAnErrorOfTheWriteFunctionFailsTheDump(t *testing.T) {
	t.Parallel()
	_, err := loomSerializer(t).Dump([]any{Loom{}})
	require.ErrorIs(t, err, serde.ErrUnsupported)
	require.ErrorContains(t, err, "at [0]: serde_test.Loom: a loom needs a name")
}

func TestJSONEnvelopesOfARegisteredClassAreItsGoTypeToo(t *testing.T) {
	t.Parallel()
	value, err := loomSerializer(t).Load(serde.Typed{Type: serde.TypeJSON, Data: []byte(
		`{"lc": 2, "type": "constructor", "id": ["weaver", "models", "Loom"], "kwargs": {"name": "j"}}`)})
	require.NoError(t, err)
	require.Equal(t, Loom{Name: "j"}, value)
}

type shuttle struct{ N int }

func TestRegisterRefusesWhatIsTaken(t *testing.T) {
	t.Parallel()
	object := func(any) (*serde.Object, error) { return nil, nil }
	readShuttle := func(*serde.Object) (shuttle, bool) { return shuttle{}, true }
	writeShuttle := func(s shuttle) (*serde.Object, error) { return object(s) }
	registry := serde.NewRegistry()
	require.NoError(t, serde.RegisterIn(registry, "m", "Shuttle", readShuttle, writeShuttle))
	for text, err := range map[string]error{
		"m.Shuttle is already registered":          serde.RegisterIn(registry, "m", "Shuttle", readLoom, writeLoom),
		"serde_test.shuttle is already registered": serde.RegisterIn(registry, "m", "Other", readShuttle, writeShuttle),
		"uuid.UUID is built in":                    serde.RegisterIn(registry, "uuid", "UUID", readLoom, writeLoom),
		"HumanMessage is built in": serde.RegisterIn(registry,
			"langchain_core.messages.human", "HumanMessage", readLoom, writeLoom),
		"uuid.UUID is built in, register a type of your own": serde.RegisterIn(registry, "m", "Id",
			func(*serde.Object) (uuid.UUID, bool) { return uuid.Nil, true },
			func(id uuid.UUID) (*serde.Object, error) { return object(id) }),
		"cannot register the interface": serde.RegisterIn(registry, "m", "E",
			func(*serde.Object) (error, bool) { return nil, true },
			func(e error) (*serde.Object, error) { return object(e) }),
		"needs both": serde.RegisterIn[Loom](registry, "m", "Loom", readLoom, nil),
	} {
		require.ErrorContains(t, err, text)
	}
}

// spindle is registered by name only, with a value for each class.
type spindle struct{ N int }

func TestRegisterChangesWhatDefaultReads(t *testing.T) {
	t.Parallel()
	require.NoError(t, serde.Register("weaver.models", "Spindle",
		func(o *serde.Object) (*spindle, bool) {
			n, ok := o.Args[0].(int64)
			return &spindle{int(n)}, ok
		},
		func(s *spindle) (*serde.Object, error) {
			return &serde.Object{Module: "weaver.models", Name: "Spindle", Kind: serde.KindArg, Args: []any{s.N}}, nil
		}))
	require.Equal(t, []any{&spindle{7}}, through(t, []any{&spindle{7}}))
}

func TestRegisteringWhileReadingIsSafe(t *testing.T) {
	t.Parallel()
	registry := serde.NewRegistry()
	s := serde.New(registry)
	typed := namedVector(t, "dataclass/nested")
	var group sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		group.Go(func() {
			if i == 10 {
				errs[i] = serde.RegisterIn(registry, "weaver.models", "Loom", readLoom, writeLoom)
				return
			}
			value, err := s.Load(typed)
			if _, isLoom := value.(Loom); err == nil && !isLoom {
				if _, isObject := value.(*serde.Object); !isObject {
					err = fmt.Errorf("unexpected %T", value)
				}
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	value, err := s.Load(typed)
	require.NoError(t, err)
	require.IsType(t, Loom{}, value)
}
