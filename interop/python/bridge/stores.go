package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

func init() { maps.Copy(methods, storeMethods) }

// storeMethods are what a client asks of Go's store, and the embedder by which the client's own store gets the same vectors.
var storeMethods = map[string]func(context.Context, *pgsaver.Saver, json.RawMessage) (any, error){
	"embed":       method(embed),
	"store_batch": method(storeBatch),
}

type embedParams struct {
	Dims  int      `json:"dims"`
	Texts []string `json:"texts"`
}

// embed answers with a vector for each text, its numbers exactly as they are in Go.
func embed(ctx context.Context, _ *pgsaver.Saver, params embedParams) (any, error) {
	vectors, err := store.NewLocalEmbedder(params.Dims).EmbedDocuments(ctx, params.Texts)
	if err != nil {
		return nil, err
	}
	exact := make([][]float64, len(vectors))
	for i, vector := range vectors {
		exact[i] = make([]float64, len(vector))
		for j, x := range vector {
			exact[i][j] = float64(x)
		}
	}
	return exact, nil
}

// peerStore is a store of any database and schema.
type peerStore struct {
	DatabaseURL string      `json:"database_url"`
	Schema      string      `json:"schema"`
	Index       *indexParam `json:"index"`
}

type indexParam struct {
	Dims       int              `json:"dims"`
	Distance   store.Distance   `json:"distance"`
	VectorType store.VectorType `json:"vector_type"`
	Fields     []string         `json:"fields"`
}

// recorder is the local embedder, and remembers the texts of items that it was given.
type recorder struct {
	store.LocalEmbedder
	texts []string
}

func (r *recorder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	r.texts = append(r.texts, texts...)
	return r.LocalEmbedder.EmbedDocuments(ctx, texts)
}

func (p peerStore) open(ctx context.Context) (*pgstore.Store, *recorder, error) {
	pool, err := poolOf(ctx, p.DatabaseURL)
	if err != nil {
		return nil, nil, err
	}
	embedder := &recorder{texts: []string{}}
	config := &pgstore.Config{Schema: p.Schema}
	if p.Index != nil {
		embedder.LocalEmbedder = store.NewLocalEmbedder(p.Index.Dims)
		config.Index = &store.IndexConfig{
			Dims: p.Index.Dims, Distance: p.Index.Distance, Embed: embedder, Fields: p.Index.Fields, VectorType: p.Index.VectorType,
		}
	}
	return pgstore.New(pool, config), embedder, nil
}

type storeBatchParams struct {
	peerStore
	Ops []storeOp `json:"ops"`
}

// storeAnswer has a result for each operation, and the texts of items that had to be embedded.
type storeAnswer struct {
	Results  []storeResult `json:"results"`
	Embedded []string      `json:"embedded"`
}

func storeBatch(ctx context.Context, _ *pgsaver.Saver, params storeBatchParams) (any, error) {
	peer, embedder, err := params.open(ctx)
	if err != nil {
		return nil, err
	}
	ops := make([]store.Op, len(params.Ops))
	for i, op := range params.Ops {
		if ops[i], err = op.build(); err != nil {
			return nil, err
		}
	}
	results, err := peer.Batch(ctx, ops...)
	if err != nil {
		return nil, err
	}
	answer := storeAnswer{Results: make([]storeResult, len(results)), Embedded: embedder.texts}
	for i, result := range results {
		if answer.Results[i], err = newStoreResult(result); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// storeOp is an operation; the field that is set says which.
type storeOp struct {
	Get  *getParams        `json:"get"`
	Put  *putItemParams    `json:"put"`
	List *namespacesParams `json:"list_namespaces"`
	Find *searchParams     `json:"search"`
}

type getParams struct {
	Namespace  []string `json:"namespace"`
	Key        string   `json:"key"`
	RefreshTTL bool     `json:"refresh_ttl"`
}

// putItemParams delete an item where the value is null. No index means that of the store, no TTL that the item lasts.
type putItemParams struct {
	Namespace  []string        `json:"namespace"`
	Key        string          `json:"key"`
	Value      json.RawMessage `json:"value"`
	Index      []string        `json:"index"`
	TTLMinutes *float64        `json:"ttl_minutes"`
}

type searchParams struct {
	NamespacePrefix []string        `json:"namespace_prefix"`
	Filter          json.RawMessage `json:"filter"`
	Limit           int             `json:"limit"`
	Offset          int             `json:"offset"`
	Query           string          `json:"query"`
	RefreshTTL      bool            `json:"refresh_ttl"`
}

type namespacesParams struct {
	Match    []matchParam `json:"match"`
	MaxDepth int          `json:"max_depth"`
	Limit    int          `json:"limit"`
	Offset   int          `json:"offset"`
}

type matchParam struct {
	Type store.MatchType `json:"type"`
	Path []string        `json:"path"`
}

func (o storeOp) build() (store.Op, error) {
	switch {
	case o.Get != nil:
		return store.GetOp{Namespace: o.Get.Namespace, Key: o.Get.Key, RefreshTTL: &o.Get.RefreshTTL}, nil
	case o.Put != nil:
		return o.Put.build()
	case o.Find != nil:
		return o.Find.build()
	case o.List != nil:
		return o.List.build(), nil
	}
	return nil, fmt.Errorf("%w: an operation is none that the store has", checkpoint.ErrInvalidArgument)
}

func (p *putItemParams) build() (store.Op, error) {
	value, err := object(p.Value)
	if err != nil {
		return nil, err
	}
	ttl := store.NoTTL
	if p.TTLMinutes != nil {
		ttl = time.Duration(*p.TTLMinutes * float64(time.Minute))
	}
	return store.PutOp{Namespace: p.Namespace, Key: p.Key, Value: value, Index: p.Index, TTL: ttl}, nil
}

func (p *searchParams) build() (store.Op, error) {
	filter, err := object(p.Filter)
	if err != nil {
		return nil, err
	}
	return store.SearchOp{
		NamespacePrefix: p.NamespacePrefix, Filter: filter, Limit: p.Limit, Offset: p.Offset, Query: p.Query,
		RefreshTTL: &p.RefreshTTL,
	}, nil
}

func (p *namespacesParams) build() store.Op {
	op := store.ListNamespacesOp{MaxDepth: p.MaxDepth, Limit: p.Limit, Offset: p.Offset}
	for _, match := range p.Match {
		op.Match = append(op.Match, store.MatchCondition(match))
	}
	return op
}

// object is a JSON object with Go's values, or nil of null.
func object(data json.RawMessage) (map[string]any, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	return store.DecodeValue(data)
}

type storeResult struct {
	Item       *storedItem  `json:"item,omitempty"`
	Items      []storedItem `json:"items,omitempty"`
	Namespaces [][]string   `json:"namespaces,omitempty"`
}

// storedItem is an item whose value Go has decoded and encoded again.
type storedItem struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
	Score     *float64        `json:"score"`
}

func newStoreResult(read store.Result) (storeResult, error) {
	result := storeResult{Namespaces: read.Namespaces}
	if read.Item != nil {
		item, err := newStoredItem(*read.Item, nil)
		if err != nil {
			return result, err
		}
		result.Item = &item
	}
	for _, found := range read.Items {
		item, err := newStoredItem(found.Item, found.Score)
		if err != nil {
			return result, err
		}
		result.Items = append(result.Items, item)
	}
	return result, nil
}

func newStoredItem(read store.Item, score *float64) (storedItem, error) {
	value, err := store.EncodeValue(read.Value)
	const form = "2006-01-02T15:04:05.000000+00:00"
	return storedItem{
		Namespace: read.Namespace, Key: read.Key, Value: value, Score: score,
		CreatedAt: read.CreatedAt.UTC().Format(form), UpdatedAt: read.UpdatedAt.UTC().Format(form),
	}, err
}
