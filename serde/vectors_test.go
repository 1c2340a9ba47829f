package serde_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
)

// vector is a value that LangGraph's own serializer wrote, see
// testdata/generate.py.
type vector struct {
	Name   string
	Type   string
	Data   string
	Size   int
	SHA256 string
	Value  any
}

func readJSON[T any](tb testing.TB, name string) []T {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(tb, err)
	var rows []T
	require.NoError(tb, json.Unmarshal(text, &rows))
	require.NotEmpty(tb, rows)
	return rows
}

// requireBytes compares with what Python wrote, which long vectors have only the
// hash of.
func (v vector) requireBytes(t *testing.T, typed serde.Typed) {
	t.Helper()
	require.Equal(t, v.Type, typed.Type)
	if v.SHA256 == "" {
		require.Equal(t, v.Data, hex.EncodeToString(typed.Data))
		return
	}
	sum := sha256.Sum256(typed.Data)
	require.Len(t, typed.Data, v.Size)
	require.Equal(t, v.SHA256, hex.EncodeToString(sum[:]))
}

// typed returns what Python wrote.
func (v vector) typed(t *testing.T) serde.Typed {
	t.Helper()
	if v.SHA256 == "" {
		return serde.Typed{Type: v.Type, Data: unhex(t, v.Data)}
	}
	// Python's bytes are not in the file, but Go's are known to be the same.
	typed, err := serde.Default().Dump(build(t, v.Value))
	require.NoError(t, err)
	v.requireBytes(t, typed)
	return typed
}

func TestValuesPythonWroteAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, v := range readJSON[vector](t, "vectors.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			v.Value = expand(v.Value)
			value, err := serde.Default().Load(v.typed(t))
			require.NoError(t, err)
			require.Equal(t, v.Value, describe(value))
		})
	}
}

func TestValuesPythonWroteAreWrittenBackAsTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, v := range readJSON[vector](t, "vectors.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			v.Value = expand(v.Value)
			value, err := serde.Default().Load(v.typed(t))
			require.NoError(t, err)
			again, err := serde.Default().Dump(value)
			require.NoError(t, err)
			v.requireBytes(t, again)
		})
	}
}

func TestValuesMadeInGoAreTheBytesPythonWrites(t *testing.T) {
	t.Parallel()
	for _, v := range readJSON[vector](t, "vectors.json") {
		if strings.HasPrefix(v.Name, "old/") || strings.HasPrefix(v.Name, "odd/message") {
			// Forms of older versions are kept when read and never made.
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			typed, err := serde.Default().Dump(build(t, expand(v.Value)))
			require.NoError(t, err)
			v.requireBytes(t, typed)
		})
	}
}

// jsonVector is a document of the older JSON form.
type jsonVector struct {
	vector
	JSON string
}

func TestJSONIsReadAsPythonReadsIt(t *testing.T) {
	t.Parallel()
	for _, v := range readJSON[jsonVector](t, "json.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			value, err := serde.Default().Load(serde.Typed{Type: serde.TypeJSON, Data: []byte(v.JSON)})
			require.NoError(t, err)
			require.Equal(t, expand(v.Value), describe(value))
			typed, err := serde.Default().Dump(value)
			require.NoError(t, err)
			v.requireBytes(t, typed)
		})
	}
}
