package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// embed gets what a batch needs from the embedder: the vectors of queries, and those of texts that are not stored with
// their vectors already.
func (s *Store) embed(ctx context.Context, b *batch) error {
	if err := s.embedQueries(ctx, b); err != nil {
		return err
	}
	if err := s.findUnchanged(ctx, b); err != nil {
		return err
	}
	return s.embedTexts(ctx, b)
}

func (s *Store) embedQueries(ctx context.Context, b *batch) error {
	vectors := map[string][]float32{}
	for _, search := range b.searches {
		if search.vectorText == nil {
			continue
		}
		text := *search.vectorText
		if _, known := vectors[text]; !known {
			vector, err := s.index.EmbedQuery(ctx, text)
			if err != nil {
				return fmt.Errorf("pgstore: search: %w", err)
			}
			vectors[text] = vector
		}
		search.vector = vectors[text]
	}
	return nil
}

// findUnchanged asks, by store_unchanged, which texts are stored with the vectors that this embedder would make again.
func (s *Store) findUnchanged(ctx context.Context, b *batch) error {
	var texts []*fieldText
	var prefixes, keys, fields []string
	var hashes [][]byte
	for _, put := range b.puts {
		for i := range put.texts {
			text := &put.texts[i]
			if text.hash == nil {
				continue
			}
			texts = append(texts, text)
			prefixes, keys = append(prefixes, put.prefix), append(keys, put.key)
			fields, hashes = append(fields, text.Field), append(hashes, text.hash)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	rows, err := s.db.Query(ctx, s.sql.unchanged, prefixes, keys, fields, hashes)
	if err != nil {
		return wrapError("find unchanged texts", err)
	}
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return wrapError("find unchanged texts", err)
	}
	for _, position := range positions {
		texts[position-1].unchanged = true
	}
	return nil
}

// embedTexts embeds, in one call, every text that is not stored with its vector; a text that several items have, once.
func (s *Store) embedTexts(ctx context.Context, b *batch) error {
	var texts []string
	for _, put := range b.puts {
		for i := range put.texts {
			text := put.texts[i].Text
			if _, known := b.vectors[text]; known || put.texts[i].unchanged {
				continue
			}
			b.vectors[text] = nil
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := s.index.EmbedDocuments(ctx, texts)
	if err != nil {
		return fmt.Errorf("pgstore: put: %w", err)
	}
	for i, text := range texts {
		b.vectors[text] = vectors[i]
	}
	return nil
}

// embedAll embeds also what was found unchanged.
func (s *Store) embedAll(ctx context.Context, b *batch) error {
	for _, put := range b.puts {
		for i := range put.texts {
			put.texts[i].unchanged = false
		}
	}
	return s.embedTexts(ctx, b)
}
