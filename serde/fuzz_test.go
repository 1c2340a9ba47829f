package serde_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
)

// FuzzLoadMsgpack checks that any bytes are an error or a value, that a value
// that was read can be written, and that what Go has written is read and
// written as the same bytes from then on.
func FuzzLoadMsgpack(f *testing.F) {
	for _, v := range readJSON[vector](f, "vectors.json") {
		if data, err := hexBytes(v.Data); err == nil && v.Type == serde.TypeMsgpack && len(data) < 600 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := serde.Default().Load(serde.Typed{Type: serde.TypeMsgpack, Data: data})
		if err != nil {
			require.ErrorIs(t, err, serde.ErrCorrupt)
			return
		}
		requireStable(t, value)
	})
}

// FuzzLoadJSON does the same for the older JSON form.
func FuzzLoadJSON(f *testing.F) {
	for _, v := range readJSON[jsonVector](f, "json.json") {
		f.Add([]byte(v.JSON))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := serde.Default().Load(serde.Typed{Type: serde.TypeJSON, Data: data})
		if err != nil {
			require.ErrorIs(t, err, serde.ErrCorrupt)
			return
		}
		if _, err := serde.Default().Dump(value); err != nil {
			// Integers beyond 64 bits are read, and refused like in Python when written.
			require.ErrorIs(t, err, serde.ErrUnsupported)
			return
		}
		requireStable(t, value)
	})
}

func requireStable(t *testing.T, value any) {
	t.Helper()
	_, err := json.Marshal(serde.Plain(value))
	require.NoError(t, err)
	written := dump(t, value)
	again, err := serde.Default().Load(written)
	require.NoError(t, err)
	require.Equal(t, written, dump(t, again))
}
