package serde

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"os"

	"github.com/ProtonMail/go-crypto/eax"
)

const (
	// aesName is the suffix of the types: "msgpack+aes".
	aesName = "aes"
	// aesKeyVariable is the environment variable LangGraph reads the key from.
	aesKeyVariable = "LANGGRAPH_AES_KEY"
	// The ciphertext is the nonce, the tag, then the encrypted bytes.
	aesNonceSize = 16
	aesTagSize   = 16
)

// NewAES returns the cipher of LangGraph's EncryptedSerializer: AES in EAX mode
// with a key of 16, 24 or 32 bytes and a random nonce of 16 bytes a value.
func NewAES(key []byte) (Cipher, error) {
	switch len(key) {
	case 16, 24, 32:
	default:
		return nil, fmt.Errorf("serde: an AES key has 16, 24 or 32 bytes, this one has %d", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("serde: AES: %w", err)
	}
	aead, err := eax.NewEAXWithNonceAndTagSize(block, aesNonceSize, aesTagSize)
	if err != nil {
		return nil, fmt.Errorf("serde: AES in EAX mode: %w", err)
	}
	return aesCipher{aead}, nil
}

// AESFromEnv is NewAES with the bytes of the environment variable
// LANGGRAPH_AES_KEY as they are, not decoded in any way.
func AESFromEnv() (Cipher, error) {
	key, ok := os.LookupEnv(aesKeyVariable)
	if !ok {
		return nil, fmt.Errorf("serde: the environment variable %s is not set", aesKeyVariable)
	}
	c, err := NewAES([]byte(key))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", aesKeyVariable, err)
	}
	return c, nil
}

type aesCipher struct{ aead cipher.AEAD }

func (c aesCipher) Encrypt(plaintext []byte) (name string, ciphertext []byte, err error) {
	nonce := make([]byte, aesNonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return "", nil, err
	}
	// Seal puts the tag last, LangGraph has it before the encrypted bytes.
	sealed := c.aead.Seal(nil, nonce, plaintext, nil)
	tag := sealed[len(plaintext):]
	out := make([]byte, 0, aesNonceSize+len(sealed))
	out = append(append(append(out, nonce...), tag...), sealed[:len(plaintext)]...)
	return aesName, out, nil
}

func (c aesCipher) Decrypt(name string, ciphertext []byte) ([]byte, error) {
	if name != aesName {
		return nil, fmt.Errorf("%w: the value is encrypted with %q, the cipher is %q", ErrDecrypt, name, aesName)
	}
	if len(ciphertext) < aesNonceSize+aesTagSize {
		return nil, fmt.Errorf("%w: %d bytes are too few for nonce and tag", ErrDecrypt, len(ciphertext))
	}
	nonce, rest := ciphertext[:aesNonceSize], ciphertext[aesNonceSize:]
	tag, body := rest[:aesTagSize], rest[aesTagSize:]
	sealed := append(append(make([]byte, 0, len(rest)), body...), tag...)
	plaintext, err := c.aead.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the key is another, or the value was changed", ErrDecrypt)
	}
	return plaintext, nil
}
