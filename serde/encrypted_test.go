package serde_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

var update = flag.Bool("update", false, "write testdata/from_go.json anew, with new nonces")

// encryptedVector is a value that EncryptedSerializer wrote, or that Go wrote
// for it to read.
type encryptedVector struct {
	Name      string `json:"name"`
	Key       string `json:"key"`
	Type      string `json:"type"`
	Data      string `json:"data"`
	PlainType string `json:"plain_type"`
	PlainData string `json:"plain_data"`
}

func withAES(t *testing.T, key string) serde.Serializer {
	t.Helper()
	cipher, err := serde.NewAES([]byte(key))
	require.NoError(t, err)
	return serde.Encrypted(serde.Raw, cipher)
}

func requireDecrypts(t *testing.T, v encryptedVector) {
	t.Helper()
	value, err := withAES(t, v.Key).Load(serde.Typed{Type: v.Type, Data: unhex(t, v.Data)})
	require.NoError(t, err)
	plain := value.(serde.Typed)
	require.Equal(t, v.PlainType, plain.Type)
	require.Equal(t, v.PlainData, hex.EncodeToString(plain.Data))
}

func TestValuesPythonEncryptedAreDecrypted(t *testing.T) {
	t.Parallel()
	for _, v := range readJSON[encryptedVector](t, "encrypted.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			requireDecrypts(t, v)
		})
	}
}

// testdata/generate.py --check has Python decrypt the same file.
func TestPythonReadsWhatGoEncrypts(t *testing.T) {
	t.Parallel()
	if *update {
		writeFromGo(t)
	}
	for _, v := range readJSON[encryptedVector](t, "from_go.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, v.PlainType+"+aes", v.Type)
			requireDecrypts(t, v)
		})
	}
}

func writeFromGo(t *testing.T) {
	t.Helper()
	var rows []encryptedVector
	for _, v := range readJSON[encryptedVector](t, "encrypted.json") {
		plain := serde.Typed{Type: v.PlainType, Data: unhex(t, v.PlainData)}
		typed, err := withAES(t, v.Key).Dump(plain)
		require.NoError(t, err)
		v.Type, v.Data = typed.Type, hex.EncodeToString(typed.Data)
		rows = append(rows, v)
	}
	text, err := json.MarshalIndent(rows, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("testdata", "from_go.json"), append(text, '\n'), 0o644))
}

const key = "0123456789abcdef"

func encryptedDefault(t *testing.T) serde.Serializer {
	t.Helper()
	cipher, err := serde.NewAES([]byte(key))
	require.NoError(t, err)
	return serde.Encrypted(serde.Default(), cipher)
}

func TestAnEncryptedValueComesBack(t *testing.T) {
	t.Parallel()
	s := encryptedDefault(t)
	for _, value := range []any{nil, "text", []byte{1}, int64(7), messages.Human("secret")} {
		typed, err := s.Dump(value)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(typed.Type, "+aes"))
		require.NotContains(t, string(typed.Data), "secret")
		again, err := s.Load(typed)
		require.NoError(t, err)
		require.Equal(t, value, again)
	}
}

func TestTheSameValueIsNeverTheSameCiphertext(t *testing.T) {
	t.Parallel()
	s := encryptedDefault(t)
	first, err := s.Dump("x")
	require.NoError(t, err)
	second, err := s.Dump("x")
	require.NoError(t, err)
	require.NotEqual(t, first.Data, second.Data)
	require.Len(t, first.Data, 16+16+2)
}

func TestValuesFromBeforeEncryptionAreStillRead(t *testing.T) {
	t.Parallel()
	typed, err := serde.Default().Dump("legacy")
	require.NoError(t, err)
	value, err := encryptedDefault(t).Load(typed)
	require.NoError(t, err)
	require.Equal(t, "legacy", value)
}

func TestEveryChangedBitIsNoticed(t *testing.T) {
	t.Parallel()
	s := encryptedDefault(t)
	typed, err := s.Dump("text")
	require.NoError(t, err)
	for i := range typed.Data {
		changed := append([]byte{}, typed.Data...)
		changed[i] ^= 1
		_, err := s.Load(serde.Typed{Type: typed.Type, Data: changed})
		require.ErrorIs(t, err, serde.ErrDecrypt, "byte %d", i)
	}
	for n := range typed.Data {
		_, err := s.Load(serde.Typed{Type: typed.Type, Data: typed.Data[:n]})
		require.ErrorIs(t, err, serde.ErrDecrypt, "%d bytes", n)
	}
}

func TestAnotherKeyDoesNotDecrypt(t *testing.T) {
	t.Parallel()
	typed, err := encryptedDefault(t).Dump("text")
	require.NoError(t, err)
	_, err = withAES(t, "another key, 16 "[:16]).Load(typed)
	require.ErrorIs(t, err, serde.ErrDecrypt)
}

func TestAnotherCipherIsNamed(t *testing.T) {
	t.Parallel()
	_, err := encryptedDefault(t).Load(serde.Typed{Type: "msgpack+rot13", Data: make([]byte, 64)})
	require.ErrorIs(t, err, serde.ErrDecrypt)
	require.ErrorContains(t, err, `"rot13"`)
}

func TestOnlyAnEncryptedSerializerEncrypts(t *testing.T) {
	t.Parallel()
	require.True(t, serde.Encrypts(encryptedDefault(t)))
	require.False(t, serde.Encrypts(serde.Default()))
	require.False(t, serde.Encrypts(serde.Raw))
}

func TestAKeyOfAnotherLengthIsRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 15, 17, 31, 33} {
		_, err := serde.NewAES(make([]byte, n))
		require.ErrorContains(t, err, "16, 24 or 32 bytes")
	}
}

func TestTheKeyComesFromTheEnvironment(t *testing.T) {
	t.Setenv("LANGGRAPH_AES_KEY", key)
	cipher, err := serde.AESFromEnv()
	require.NoError(t, err)
	typed, err := encryptedDefault(t).Dump("text")
	require.NoError(t, err)
	value, err := serde.Encrypted(serde.Default(), cipher).Load(typed)
	require.NoError(t, err)
	require.Equal(t, "text", value)
}

func TestAShortKeyInTheEnvironmentNamesTheVariable(t *testing.T) {
	t.Setenv("LANGGRAPH_AES_KEY", "short")
	_, err := serde.AESFromEnv()
	require.ErrorContains(t, err, "LANGGRAPH_AES_KEY")
}

func TestNoKeyInTheEnvironmentNamesTheVariable(t *testing.T) {
	t.Setenv("LANGGRAPH_AES_KEY", "")
	require.NoError(t, os.Unsetenv("LANGGRAPH_AES_KEY"))
	_, err := serde.AESFromEnv()
	require.ErrorContains(t, err, "LANGGRAPH_AES_KEY is not set")
}

type brokenCipher struct{ serde.Cipher }

var errBroken = errors.New("no entropy")

func (brokenCipher) Encrypt([]byte) (string, []byte, error) { return "", nil, errBroken }

func TestACipherThatFailsFailsTheDump(t *testing.T) {
	t.Parallel()
	_, err := serde.Encrypted(serde.Default(), brokenCipher{}).Dump("x")
	require.ErrorIs(t, err, errBroken)
	_, err = serde.Encrypted(serde.Default(), brokenCipher{}).Dump(func() {})
	require.ErrorIs(t, err, serde.ErrUnsupported)
}
