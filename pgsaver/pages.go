package pgsaver

import (
	"context"
	"fmt"

	"github.com/pgweft/pgweft/checkpoint"
)

// Postgres keeps the result of list_checkpoints until the client has read it, beyond work_mem in temporary files, and sends
// nothing before it is complete. So List asks for pages: the first is large enough for most lists, and those that follow have
// about pageBytes, however large the checkpoints are.
const (
	firstPage    = 32
	smallestPage = 4
	largestPage  = 1000
	pageBytes    = 2 << 20
)

// listing is how far a list has come.
type listing struct {
	threadID, namespace, filter, checkpointID *string
	withState                                 bool

	before string // the ID above what is still to be read
	left   int    // how many may still be read; 0 is no limit
	page   int    // rows to ask for; 0 is all, in one page
	unique bool   // whether no ID comes twice
}

func newListing(config checkpoint.Config, options checkpoint.ListOptions, filter *string) *listing {
	l := &listing{
		threadID: orNull(config.ThreadID), namespace: &config.Namespace, filter: filter,
		checkpointID: orNull(config.CheckpointID), withState: !options.WithoutState,
		before: options.Before, left: options.Limit, page: firstPage,
		unique: config.ThreadID != "" && !options.AllNamespaces,
	}
	if options.AllNamespaces {
		l.namespace = nil
	}
	// Nothing comes after a single ID; and a filter on all threads finds each page by looking at all that matches.
	if l.checkpointID != nil || l.threadID == nil && filter != nil {
		l.page = 0
	}
	return l
}

// isLast says whether the next page is known to be the last.
func (l *listing) isLast() bool { return l.page == 0 || l.left != 0 && l.left <= l.page }

// limit is how many rows to ask for; nil is no limit.
func (l *listing) limit() *int64 {
	n := int64(l.page)
	if l.isLast() {
		n = int64(l.left)
	}
	if n == 0 {
		return nil
	}
	return &n
}

// resize makes pages of about pageBytes from what the last one was.
func (l *listing) resize(rows, bytes int) {
	l.page = min(max(pageBytes*rows/max(bytes, 1), smallestPage), largestPage)
}

// listPage reads one page and says whether there may be more.
//
// In several namespaces an ID may come more than once, and the next page begins below an ID. So of the last ID of a full page
// nothing is shown, and the next page begins with it.
func (s *Saver) listPage(ctx context.Context, l *listing, yield func(*checkpoint.Tuple, error) bool) (more bool, err error) {
	isLast, limit := l.isLast(), l.limit()
	rows, err := s.reader.Query(ctx, s.sql.list, l.threadID, l.namespace, l.filter, orNull(l.before), limit, l.withState,
		l.checkpointID)
	if err != nil {
		return false, wrapError("list", err)
	}
	defer rows.Close()
	lent := parallelRows.lend("", "")
	defer lent.release()
	var held []*tupleRow // read and not yet shown, of one ID
	above, read, bytes := l.before, 0, 0
	for rows.Next() {
		found, err := lent.read(rows)
		if err != nil {
			return false, wrapError("list", err)
		}
		read++
		for _, value := range rows.RawValues() {
			bytes += len(value)
		}
		if len(held) > 0 && (isLast || l.unique || held[0].config.CheckpointID != found.config.CheckpointID) {
			if goOn, err := s.show(l, held, yield); err != nil || !goOn {
				return false, err
			}
			held = held[:0]
		}
		held = append(held, found)
	}
	if err := rows.Err(); err != nil {
		return false, wrapError("list", err)
	}
	isLast = isLast || int64(read) < *limit
	if isLast || l.unique {
		if goOn, err := s.show(l, held, yield); err != nil || !goOn {
			return false, err
		}
	}
	if l.before == above {
		l.page *= 2
	} else {
		l.resize(read, bytes)
	}
	return !isLast, nil
}

// show gives checkpoints to the caller and says whether it wants more.
func (s *Saver) show(l *listing, found []*tupleRow, yield func(*checkpoint.Tuple, error) bool) (goOn bool, err error) {
	for _, row := range found {
		tuple, err := s.tuple(row)
		if err != nil {
			return false, fmt.Errorf("pgsaver: list: %w", err)
		}
		if !yield(tuple, nil) {
			return false, nil
		}
		l.before = row.config.CheckpointID
		if l.left > 0 {
			l.left--
		}
	}
	return true, nil
}
