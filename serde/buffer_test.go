package serde_test

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

func bufferValues() []any {
	return []any{
		nil, []byte(nil),
		[]byte{},
		[]byte("bytes"), serde.ByteArray("array"), "text", int64(7), (*int)(nil),
		[]any{},
		ordered.New().Set("k", []any{1.5, "v", []byte{0, 1}}), messages.Human(strings.Repeat("long ", 5000)),
		conversation(3, 400),
		serde.DeltaSnapshot{Value: []any{"s"}},
	}
}

func TestABufferWritesWhatDumpWrites(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]serde.Serializer{"default": serde.Default(), "raw": serde.Raw} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 { // again with memory that was used before
				buffer := serde.NewBuffer()
				var lent, want []serde.Typed
				for _, value := range bufferValues() {
					if name == "raw" {
						value = serde.Typed{Type: "own", Data: []byte("own")}
					}
					typed, err := buffer.Dump(s, value)
					require.NoError(t, err)
					lent = append(lent, typed)
					dumped, err := s.Dump(value)
					require.NoError(t, err)
					want = append(want, dumped)
				}
				require.Equal(t, want, lent, "also after the buffer has grown")
				buffer.Release()
			}
		})
	}
}

func TestWhatCannotBeWrittenLeavesTheRestOfABuffer(t *testing.T) {
	t.Parallel()
	buffer := serde.NewBuffer()
	defer buffer.Release()
	first, err := buffer.Dump(serde.Default(), []any{"first"})
	require.NoError(t, err)
	_, err = buffer.Dump(serde.Default(), []any{"half", make(chan int)})
	require.ErrorIs(t, err, serde.ErrUnsupported)
	second, err := buffer.Dump(serde.Default(), []any{"second"})
	require.NoError(t, err)
	for text, typed := range map[string]serde.Typed{"first": first, "second": second} {
		value, err := serde.Default().Load(typed)
		require.NoError(t, err)
		require.Equal(t, []any{text}, value)
	}
}

func TestABufferLendsWhatDumpCopies(t *testing.T) {
	t.Parallel()
	buffer := serde.NewBuffer()
	defer buffer.Release()
	value := []byte("of the caller")
	typed, err := buffer.Dump(serde.Default(), value)
	require.NoError(t, err)
	require.Same(t, unsafe.SliceData(value), unsafe.SliceData(typed.Data))
	typed, err = serde.Default().Dump(value)
	require.NoError(t, err)
	require.NotSame(t, unsafe.SliceData(value), unsafe.SliceData(typed.Data))
}

func TestLoadOwnedSharesItsBytesAndLoadDoesNot(t *testing.T) {
	t.Parallel()
	typed, err := serde.Default().Dump([]any{strings.Repeat("text ", 100)})
	require.NoError(t, err)
	shares := func(value any) bool {
		text := value.([]any)[0].(string)
		return uintptr(unsafe.Pointer(unsafe.StringData(text)))-uintptr(unsafe.Pointer(unsafe.SliceData(typed.Data))) < uintptr(len(typed.Data))
	}
	owned, err := serde.LoadOwned(serde.Default(), typed)
	require.NoError(t, err)
	require.True(t, shares(owned))
	copied, err := serde.Default().Load(typed)
	require.NoError(t, err)
	require.Equal(t, owned, copied)
	require.False(t, shares(copied))
}

func TestLoadOwnedReadsWhatLoadReads(t *testing.T) {
	t.Parallel()
	cipher, err := serde.NewAES(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	for name, s := range map[string]serde.Serializer{
		"default": serde.Default(), "encrypted": serde.Encrypted(serde.Default(), cipher),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			buffer := serde.NewBuffer()
			defer buffer.Release()
			for _, value := range bufferValues() {
				typed, err := buffer.Dump(s, value)
				require.NoError(t, err)
				want, err := s.Load(typed)
				require.NoError(t, err)
				owned := serde.Typed{Type: typed.Type, Data: bytes.Clone(typed.Data)}
				got, err := serde.LoadOwned(s, owned)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			_, err := serde.LoadOwned(s, serde.Typed{Type: serde.TypeMsgpack, Data: []byte{0xc1}})
			require.ErrorIs(t, err, serde.ErrCorrupt)
		})
	}
}
