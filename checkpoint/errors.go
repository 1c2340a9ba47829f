package checkpoint

import "errors"

// Errors of any Saver, for [errors.Is]. The error itself says which checkpoint or channel it is about and what to do.
var (
	// ErrNotFound says that the checkpoint, or any checkpoint of the thread, does not exist.
	ErrNotFound = errors.New("checkpoint not found")
	// ErrInvalidArgument says that an argument cannot be used; nothing was saved.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrVersionCollision says that a channel already has another value under the version to be saved: another writer,
	// or another branch, was there first. Nothing was saved; read the thread again.
	ErrVersionCollision = errors.New("channel version already has another value")
	// ErrPinned says that a checkpoint is pinned or guarded against what was asked for.
	ErrPinned = errors.New("checkpoint is pinned")
	// ErrCorrupt says that stored state is damaged.
	ErrCorrupt = errors.New("stored state is damaged")
	// ErrNotEnabled says that the feature is not enabled in this database.
	ErrNotEnabled = errors.New("feature is not enabled")
	// ErrTenant says that data is divided between tenants and that no tenant was named, or that what was to be saved belongs
	// to another. Nothing was saved.
	ErrTenant = errors.New("tenant is missing or another")
)
