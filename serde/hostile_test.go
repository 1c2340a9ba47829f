package serde_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

func loadHex(t *testing.T, text string) (any, error) {
	t.Helper()
	return serde.Default().Load(serde.Typed{Type: serde.TypeMsgpack, Data: unhex(t, strings.ReplaceAll(text, " ", ""))})
}

func TestCorruptMessagePackIsAnErrorWithItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, text string }{
		"nothing":                           {"", "at byte 0: a value is due where the data ends"},
		"a code that is none":               {"91c1", "at byte 1: no value starts with 0xc1"},
		"two values":                        {"0102", "at byte 1: 1 bytes follow the value"},
		"a string cut off":                  {"a3 6162", "at byte 1: 3 bytes are due, 2 are left"},
		"a string longer than the data":     {"db ffffffff 61", "bytes are due, 1 are left"},
		"a length cut off":                  {"da 00", "2 bytes are due, 1 are left"},
		"a string that is not UTF-8":        {"92 01 a2 ff61", "at byte 3: the string is not UTF-8"},
		"a surrogate in UTF-8":              {"a3 eda080", "the string is not UTF-8"},
		"a number cut off":                  {"cf 00000000", "8 bytes are due, 4 are left"},
		"a float cut off":                   {"cb 00", "8 bytes are due, 1 are left"},
		"bytes longer than the data":        {"c6 7fffffff", "2147483647 bytes are due"},
		"an array longer than the data":     {"dd ffffffff 01", "values are announced, there is room for 1"},
		"an array of one too many":          {"93 0101", "3 values are announced, there is room for 2"},
		"a map longer than the data":        {"df ffffffff 0101", "entries are announced, 2 bytes are left"},
		"a map with half an entry":          {"82 010101", "2 entries are announced"},
		"arrays that share their room":      {"92 92 0101", "2 values are announced, there is room for 1"},
		"a map as key":                      {"81 80 01", "*ordered.Map cannot be a map key"},
		"an extension as key":               {"81 d40801 01", "serde.Ext cannot be a map key"},
		"a map within a tuple key":          {"81 91 80 01", "cannot be a map key"},
		"an extension longer than the data": {"c9 ffffffff 00", "bytes is due, 0 are left"},
		"an extension without its type":     {"d4", "1 bytes are due"},
		"an extension that ends inside":     {"c7 05 00 93 a3 616263", "a name is due"},
		"a value cut off by its extension":  {"92 c7 06 00 93 a1 61 a1 62 a9 01", "9 bytes are due, 0 are left"},
		"a corrupt snapshot":                {"d4 07 c1", "no value starts with 0xc1"},
		"a corrupt array of numbers":        {"d5 06 94 c1", "values are announced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := loadHex(t, c.data)
			require.ErrorIs(t, err, serde.ErrCorrupt)
			require.ErrorContains(t, err, c.text)
		})
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	t.Parallel()
	whole := dump(t, []any{conversation(1, 300), serde.Send{Node: "n", Arg: ordered.New().Set("k", 1.5)}})
	for n := range whole.Data {
		_, err := serde.Default().Load(serde.Typed{Type: whole.Type, Data: whole.Data[:n]})
		require.ErrorIs(t, err, serde.ErrCorrupt, "%d bytes", n)
	}
}

func TestEveryChangedByteIsAnErrorOrAValueThatCanBeWritten(t *testing.T) {
	t.Parallel()
	whole := dump(t, []any{conversation(1, 60), serde.Interrupt{Value: serde.Set{1}, ID: "i"}})
	for i := range whole.Data {
		for _, b := range []byte{0x00, 0x7f, 0x80, 0x93, 0xa0, 0xc0, 0xc1, 0xc7, 0xd4, 0xdd, 0xdf, 0xff} {
			data := bytes.Clone(whole.Data)
			data[i] = b
			value, err := serde.Default().Load(serde.Typed{Type: whole.Type, Data: data})
			if err != nil {
				require.ErrorIs(t, err, serde.ErrCorrupt)
				continue
			}
			_, err = serde.Default().Dump(value)
			require.NoError(t, err, "byte %d as %#x", i, b)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	load := func(data []byte) error {
		_, err := serde.Default().Load(serde.Typed{Type: serde.TypeMsgpack, Data: data})
		return err
	}
	arrays := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0x01) }
	require.NoError(t, load(arrays(1022)))
	require.ErrorIs(t, load(arrays(1023)), serde.ErrCorrupt)
	require.ErrorIs(t, load(arrays(10_000_000)), serde.ErrCorrupt)

	snapshots := func(n int) []byte {
		data := []byte{0x01}
		for range n {
			data = append(binary.BigEndian.AppendUint32([]byte{0xc9}, uint32(len(data))), append([]byte{7}, data...)...)
		}
		return data
	}
	require.NoError(t, load(snapshots(4096)))
	require.ErrorIs(t, load(snapshots(4097)), serde.ErrCorrupt)
	require.ErrorIs(t, load(append(bytes.Repeat([]byte{0x81, 0xa1, 'k'}, 5000), 1)), serde.ErrCorrupt)
}

func TestMemoryIsBoundedByTheSizeOfTheInput(t *testing.T) {
	// Not parallel: it measures what this goroutine allocates.
	const size = 1 << 20
	claims := make([]byte, 0, size)
	for len(claims) < 5*1000 {
		claims = binary.BigEndian.AppendUint32(append(claims, 0xdd), uint32(size-len(claims)-5))
	}
	claims = append(claims, make([]byte, size-len(claims))...)
	for name, data := range map[string][]byte{
		"arrays that each announce all that is left": claims,
		"one array of ones":                          append([]byte{0xdd, 0, 0x0f, 0xff, 0xfb}, bytes.Repeat([]byte{1}, size-5)...),
		"many empty maps":                            append([]byte{0xdd, 0, 0x0f, 0xff, 0xfb}, bytes.Repeat([]byte{0x80}, size-5)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := serde.Default().Load(serde.Typed{Type: serde.TypeMsgpack, Data: data})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*size), name)
		if name == "arrays that each announce all that is left" {
			require.ErrorIs(t, err, serde.ErrCorrupt)
		} else {
			require.NoError(t, err)
		}
	}
}

func TestExtensionsThatLangGraphWouldNotWriteAreKept(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"not an array":             "c7 03 00 a2 6162",
		"an array of two":          "c7 05 00 92 a1 61 a1 62",
		"a number as module":       "c7 05 00 93 01 a1 62 01",
		"a number as name":         "c7 05 00 93 a1 61 01 01",
		"a number as method":       "c7 07 03 94 a1 61 a1 62 01 01",
		"positional args no array": "c7 06 01 93 a1 61 a1 62 01",
		"more after the payload":   "c7 07 00 93 a1 61 a1 62 01 02",
		"a longer header":          "d7 00 dc 0003 a1 61 a1 62 01",
		"an array of numbers of 3": "d6 06 93 010203",
		"numbers as dtype":         "c7 05 06 94 01 90 a0 c0",
		"two snapshots":            "d5 07 0101",
		"an empty payload":         "c7 00 03",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, err := loadHex(t, data)
			require.NoError(t, err)
			require.IsType(t, serde.Ext{}, value)
			require.Equal(t, unhex(t, strings.ReplaceAll(data, " ", "")), dump(t, value).Data)
		})
	}
}

func TestLongFormsAreReadAndWrittenShort(t *testing.T) {
	t.Parallel()
	for long, short := range map[string]string{
		"cc 01": "01", "cd 0001": "01", "cf 0000000000000001": "01", "d0 01": "01", "d3 ffffffffffffffff": "ff",
		"d9 01 61": "a1 61", "db 00000001 61": "a1 61", "dc 0001 01": "91 01", "df 00000001 01 02": "81 01 02",
		"c9 00000001 08 01": "d4 08 01",
	} {
		value, err := loadHex(t, long)
		require.NoError(t, err)
		require.Equal(t, unhex(t, strings.ReplaceAll(short, " ", "")), dump(t, value).Data)
	}
}

func TestCorruptJSONIsAnErrorWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: "at byte 0", `[1,`: "at byte 3", `{"a" 1}`: "at byte 5", `"a`: "inside a string", `01`: "at byte 1",
		`[1 2]`: "needs ',' or ']'", "\"\xff\"": "not UTF-8", `"\x"`: "unknown escape", "\"\n\"": "control character",
		strings.Repeat("[", 100000): "levels deep", strings.Repeat("9", 5000): "more than 4300 digits",
	} {
		_, err := serde.Default().Load(serde.Typed{Type: serde.TypeJSON, Data: []byte(text)})
		require.ErrorIs(t, err, serde.ErrCorrupt)
		require.ErrorContains(t, err, want)
	}
}
