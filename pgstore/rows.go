package pgstore

import (
	"fmt"
	"time"

	"github.com/pgweft/pgweft/store"
)

// itemRow are the columns that rows of store_get and store_search share, by name.
type itemRow struct {
	Prefix    string    `db:"prefix"`
	Key       string    `db:"key"`
	Value     []byte    `db:"value"`
	CreatedAt time.Time `db:"created_at"`
	UpdatedAt time.Time `db:"updated_at"`
}

type gotRow struct {
	itemRow
	Position int32 `db:"item_position"`
}

type foundRow struct {
	itemRow
	Score *float64 `db:"score"`
}

func (r *itemRow) item() (store.Item, error) {
	value, err := store.DecodeValue(r.Value)
	if err != nil {
		return store.Item{}, fmt.Errorf("key %q in namespace %q: %w", r.Key, r.Prefix, err)
	}
	return store.Item{
		Namespace: store.SplitNamespace(r.Prefix),
		Key:       r.Key,
		Value:     value,
		CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt,
	}, nil
}
