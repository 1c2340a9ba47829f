package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// maxAttempts bounds how often a batch is sent that others keep from being done.
const maxAttempts = 10

// sendUntilDone sends a batch, and again where another transaction was in its way and nothing of it was done: a vector that
// was found unchanged has been replaced since, or, unless the transaction is the caller's, the server has ended a deadlock.
func (s *Store) sendUntilDone(ctx context.Context, db DB, b *batch) error {
	for attempt := 1; ; attempt++ {
		err := s.send(ctx, db, b)
		switch {
		case isVectorGone(err) && b.countsOnVectors():
			if err := s.embedAll(ctx, b); err != nil {
				return err
			}
		case isConflict(err) && !s.inTx && attempt < maxAttempts:
		default:
			return err
		}
	}
}

// send does a batch in one round trip. What is sent together is one transaction, unless one is open already.
func (s *Store) send(ctx context.Context, db DB, b *batch) error {
	clear(b.results)
	calls := s.statements(b)
	if !s.inTx || !b.countsOnVectors() {
		return sendAll(ctx, db, calls)
	}
	guarded := append([]statement{{"begin", savepoint, nil, discard}}, calls...)
	guarded = append(guarded, statement{"end", releaseSavepoint, nil, discard})
	err := sendAll(ctx, db, guarded)
	if isVectorGone(err) {
		if _, failed := db.Exec(ctx, rollbackToSavepoint); failed != nil {
			return wrapError("roll back", failed)
		}
	}
	return err
}

func sendAll(ctx context.Context, db DB, calls []statement) error {
	queued := &pgx.Batch{}
	for _, call := range calls {
		queued.Queue(call.sql, call.args...)
	}
	results := db.SendBatch(ctx, queued)
	for _, call := range calls {
		rows, err := results.Query()
		if err == nil {
			err = call.read(rows)
		}
		if err != nil {
			_ = results.Close() // says the same again
			return wrapError(call.operation, err)
		}
	}
	// The transaction ends here.
	return wrapError("commit", results.Close())
}
