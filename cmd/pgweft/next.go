package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
)

// stateOf is what Go reads of a checkpoint: above all which nodes run next, and which node each task is of.
func (o *options) stateOf(ctx context.Context, tx pgx.Tx, config checkpoint.Config) (state *checkpoint.Snapshot, err error) {
	err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
		saver := pgsaver.New(savepoint, &pgsaver.Config{Schema: o.database.Schema(), Serde: lenient{serde.Default()}})
		state, err = checkpoint.GetState(ctx, saver, config)
		return err
	})
	return state, err
}

// lenient loads a value that cannot be read, encrypted or damaged, as the bytes it is: most of what comes next does not
// depend on it.
type lenient struct{ serde.Serializer }

func (l lenient) Load(typed serde.Typed) (any, error) {
	value, err := l.Serializer.Load(typed)
	if err != nil {
		return typed, nil //nolint:nilerr // see above
	}
	return value, nil
}
