package store

import (
	"errors"
	"fmt"
)

// Errors of any Store, for [errors.Is]. The error itself says which operation it is about and what to do.
var (
	// ErrNotFound says that the item does not exist, or has expired.
	ErrNotFound = errors.New("item not found")
	// ErrInvalidArgument says that an argument cannot be used; nothing was read or written.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrInvalidNamespace is the ErrInvalidArgument of a namespace: one that is empty where an item has to be put, begins
	// with the reserved label "langgraph", or has a label that is empty or contains ".", NUL or broken UTF-8.
	ErrInvalidNamespace = fmt.Errorf("%w: namespace", ErrInvalidArgument)
	// ErrNotEnabled says that the store lacks what was asked for, such as a vector index for a search by meaning.
	ErrNotEnabled = errors.New("feature is not enabled")
	// ErrTenant says that no tenant is set where the store is divided between tenants, or that a key belongs to another one.
	ErrTenant = errors.New("tenant")
	// ErrEmbedding says that the embedder failed, or returned what cannot be used; nothing was written.
	ErrEmbedding = errors.New("embedding failed")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidArgument, fmt.Sprintf(format, args...))
}
