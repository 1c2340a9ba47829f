package serde

import (
	"fmt"
	"strings"
)

// Cipher encrypts the bytes of values. Implementations are safe for concurrent
// use.
type Cipher interface {
	// Encrypt returns the name of the cipher, which becomes part of the type, and
	// the ciphertext.
	Encrypt(plaintext []byte) (name string, ciphertext []byte, err error)
	// Decrypt reverses Encrypt. It returns ErrDecrypt for another cipher's name
	// and for bytes that its key did not encrypt.
	Decrypt(name string, ciphertext []byte) ([]byte, error)
}

// Encrypted returns a serializer that encrypts what inner writes, as
// LangGraph's EncryptedSerializer does: the type "msgpack" becomes
// "msgpack+aes". Types without a cipher's name are loaded as they are, so that
// a database can be switched to encryption.
func Encrypted(inner Serializer, cipher Cipher) Serializer {
	return encrypted{inner, cipher}
}

// Encrypts reports whether a serializer hides what it writes: whether it has a
// method Encrypts() bool that says so. A saver must then store no value beside
// the serializer, such as inline in the checkpoint.
func Encrypts(s Serializer) bool {
	e, ok := s.(interface{ Encrypts() bool })
	return ok && e.Encrypts()
}

type encrypted struct {
	inner  Serializer
	cipher Cipher
}

func (encrypted) Encrypts() bool { return true }

func (s encrypted) Dump(value any) (Typed, error) {
	typed, err := s.inner.Dump(value)
	if err != nil {
		return Typed{}, err
	}
	return s.encrypt(typed)
}

func (s encrypted) encrypt(typed Typed) (Typed, error) {
	name, ciphertext, err := s.cipher.Encrypt(typed.Data)
	if err != nil {
		return Typed{}, fmt.Errorf("serde: encrypt: %w", err)
	}
	return Typed{Type: typed.Type + "+" + name, Data: ciphertext}, nil
}

func (s encrypted) Load(typed Typed) (any, error) {
	typed, err := s.decrypt(typed)
	if err != nil {
		return nil, err
	}
	return s.inner.Load(typed)
}

// decrypt returns what was encrypted; what never was, as it is.
func (s encrypted) decrypt(typed Typed) (Typed, error) {
	inner, cipher, isEncrypted := strings.Cut(typed.Type, "+")
	if !isEncrypted {
		return typed, nil
	}
	plaintext, err := s.cipher.Decrypt(cipher, typed.Data)
	if err != nil {
		return Typed{}, err
	}
	return Typed{Type: inner, Data: plaintext}, nil
}
