package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/pgweft/pgweft/store"
)

// The items of the store: so many, found under one namespace, each with a text and a number.
const (
	dimensions  = 256
	searchLimit = 10
)

// itemPrefix is the namespace of the items that are read, as the tables have it.
const itemPrefix = "bench.memories"

// itemField is what is embedded of an item.
const itemField = "$"

var (
	embedder = &remembered{LocalEmbedder: store.NewLocalEmbedder(dimensions)}
	index    = &store.IndexConfig{Dims: dimensions, Embed: embedder}
)

func itemNamespace() []string { return store.SplitNamespace(itemPrefix) }

const itemKeyFormat = "memory-%06d"

func itemKey(i int) string { return fmt.Sprintf(itemKeyFormat, i) }

// item is the value of an item: a body, and a number that tells items of one body apart.
func (p payloads) item(i int) map[string]any {
	item := map[string]any{"number": int64(i)}
	for channel, text := range p.of(small, i).described {
		item[channel] = text
	}
	return item
}

// itemBytes is an item as JSON.
func (p payloads) itemBytes(i int) []byte {
	encoded, err := store.EncodeValue(p.item(i))
	if err != nil {
		panic(err) // a text and a number can always be encoded
	}
	return encoded
}

func (p payloads) checkItem(i int, value map[string]any) error {
	wanted := p.item(i)
	for _, field := range sortedKeys(wanted) {
		if fmt.Sprint(value[field]) != fmt.Sprint(wanted[field]) {
			return fmt.Errorf("%w: item %d is %v", errRead, i, value)
		}
	}
	return nil
}

// queryText is what finds an item: all of its text, as it was embedded.
func (p payloads) queryText(i int) string {
	texts, err := index.Texts(p.item(i), nil)
	if err != nil || len(texts) != 1 {
		panic(fmt.Sprintf("item %d has the texts %v: %v", i, texts, err)) // the whole of an item is one text
	}
	return texts[0].Text
}

// checkFound wants as many items as there should be, and one of the same body first: items of one body differ in nothing but
// a number.
func checkFound(number int, keys []string) error {
	first := -1
	if len(keys) > 0 {
		_, _ = fmt.Sscanf(keys[0], itemKeyFormat, &first)
	}
	if len(keys) != searchLimit || first < 0 || first%smallBodies != number%smallBodies {
		return fmt.Errorf("%w: a search for the text of item %d found %s", errRead, number, strings.Join(keys, ", "))
	}
	return nil
}

// remembered makes every vector once, so that a search measures the database, as the peers do.
type remembered struct {
	store.LocalEmbedder
	vectors sync.Map
}

// EmbedQuery returns the vector of a text.
func (r *remembered) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if vector, known := r.vectors.Load(text); known {
		return vector.([]float32), nil
	}
	vector, err := r.LocalEmbedder.EmbedQuery(ctx, text)
	if err == nil {
		r.vectors.Store(text, vector)
	}
	return vector, err
}

// EmbedDocuments returns a vector for each text.
func (r *remembered) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		var err error
		if vectors[i], err = r.EmbedQuery(ctx, text); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}
