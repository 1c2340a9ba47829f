package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pgweft/pgweft/store"
)

// coordinates is an embedder whose texts are their vectors: "1 0.5" has 1 and 0.5 as its first dimensions and zeros after
// them. A test can so place items where it wants them.
type coordinates struct{ dims int }

func (e coordinates) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vector, err := e.EmbedQuery(ctx, text)
		if err != nil {
			return nil, err
		}
		vectors[i] = vector
	}
	return vectors, nil
}

func (e coordinates) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	vector := make([]float32, e.dims)
	for i, field := range strings.Fields(text) {
		x, err := strconv.ParseFloat(field, 32)
		if err != nil {
			return nil, fmt.Errorf("the text %q is no vector: %w", text, err)
		}
		vector[i] = float32(x)
	}
	return vector, nil
}

func (e coordinates) Identity() string { return "storetest/coordinates" }

// recorder notes what it is asked to embed.
type recorder struct {
	store.Embedder
	mu    sync.Mutex
	calls [][]string
}

func (e *recorder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, slices.Sorted(slices.Values(texts)))
	return e.Embedder.EmbedDocuments(ctx, texts)
}

// taken are the calls since it was asked last; the texts of each are sorted.
func (e *recorder) taken() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	calls := e.calls
	e.calls = nil
	return calls
}

var errService = errors.New("the service is down")

// broken is an embedder that fails, or returns what cannot be used.
type broken struct {
	documents func(texts []string) ([][]float32, error)
	query     func() ([]float32, error)
}

func (e broken) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	return e.documents(texts)
}

func (e broken) EmbedQuery(context.Context, string) ([]float32, error) { return e.query() }
