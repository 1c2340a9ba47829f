package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// stored is a serialized value as the database decodes it.
type stored struct {
	Type  *string         `db:"type" json:"type"` // null for a value inline in the checkpoint
	Bytes *int64          `db:"bytes" json:"bytes"`
	Value json.RawMessage `db:"value" json:"value"`
	// Damage says why there is no value.
	Damage string `db:"-" json:"damage,omitempty"`

	Blob []byte `db:"blob" json:"-"`
}

func (s *stored) part() *stored { return s }

// decoded reads rows with stored values. If one of them is damaged, the query as a whole fails: then the rows are read
// without decoding, and decoded one by one, so that only the damaged ones lack their value. The decode parameter is the
// fourth of every such query.
func decoded[T any, P interface {
	*T
	part() *stored
}](ctx context.Context, tx pgx.Tx, q *queries, sql string, args ...any) ([]T, error) {
	run := func(decode bool) (rows []T, err error) {
		withDecode := append(append(append([]any{}, args[:3]...), decode), args[3:]...)
		err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
			rows, err = collect[T](ctx, savepoint, sql, withDecode...)
			return err
		})
		return rows, err
	}
	rows, err := run(true)
	if _, damaged := damage(err); !damaged {
		return rows, err
	}
	if rows, err = run(false); err != nil {
		return nil, err
	}
	for i := range rows {
		if err := decodeOne(ctx, tx, q, P(&rows[i]).part()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func decodeOne(ctx context.Context, tx pgx.Tx, q *queries, s *stored) error {
	if s.Value != nil || s.Blob == nil {
		return nil
	}
	err := pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
		var err error
		s.Value, err = call[json.RawMessage](ctx, savepoint, q.decode, s.Type, s.Blob)
		return err
	})
	if reason, damaged := damage(err); damaged {
		s.Damage = reason
		return nil
	}
	return err
}

// damage tells whether a value could not be decoded, and why.
func damage(err error) (string, bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return "", false
	}
	switch pgErr.Code {
	case corrupt, pgerrcode.InvalidTextRepresentation, pgerrcode.CharacterNotInRepertoire, pgerrcode.UntranslatableCharacter:
		return strings.TrimSuffix(pgErr.Message+": "+pgErr.Detail, ": "), true
	}
	return "", false
}
