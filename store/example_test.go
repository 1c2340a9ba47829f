package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/pgweft/pgweft/store"
)

// Paths say which texts of a value are embedded.
func ExampleTextAtPath() {
	value := map[string]any{
		"title":    "Weaving",
		"rating":   4.0,
		"chapters": []any{map[string]any{"text": "Warp"}, map[string]any{"text": "Weft"}},
	}
	for _, path := range []string{"title", "chapters[*].text", "chapters[-1].text", "{title,rating}", "chapters[0]", "missing"} {
		texts, err := store.TextAtPath(value, path)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-18s %q\n", path, texts)
	}
	// Output:
	// title              ["Weaving"]
	// chapters[*].text   ["Warp" "Weft"]
	// chapters[-1].text  ["Weft"]
	// {title,rating}     ["Weaving" "4.0"]
	// chapters[0]        ["{\"text\": \"Warp\"}"]
	// missing            []
}

// Several texts of one path become vectors of their own.
func ExampleIndexConfig_Texts() {
	config := &store.IndexConfig{Dims: store.DefaultLocalDims, Embed: store.LocalEmbedder{}, Fields: []string{"title", "tags[*]"}}
	texts, err := config.Texts(map[string]any{"title": "Weaving", "tags": []string{"warp", "weft"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range texts {
		fmt.Println(text.Field, "=", text.Text)
	}
	// Output:
	// title = Weaving
	// tags[*].0 = warp
	// tags[*].1 = weft
}

// The local embedder needs no service: texts that share words are near each other.
func ExampleLocalEmbedder() {
	embedder := store.NewLocalEmbedder(256)
	memories := []string{"I love eating spicy Sichuan food.", "My favorite sport is swimming."}
	vectors, err := embedder.EmbedDocuments(context.Background(), memories)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, question := range []string{"What are my food preferences?", "What is my favorite sport?"} {
		query, err := embedder.EmbedQuery(context.Background(), question)
		if err != nil {
			fmt.Println(err)
			return
		}
		best := 0
		for i := range vectors {
			if cosine(query, vectors[i]) > cosine(query, vectors[best]) {
				best = i
			}
		}
		fmt.Println(question, memories[best])
	}
	// Output:
	// What are my food preferences? I love eating spicy Sichuan food.
	// What is my favorite sport? My favorite sport is swimming.
}

// Any server that speaks OpenAI's embeddings API will do.
func ExampleNewHTTPEmbedder() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"index": 0, "embedding": []float32{0.6, 0.8}}}})
	}))
	defer server.Close()

	embedder, err := store.NewHTTPEmbedder(store.HTTPEmbedderConfig{
		APIKey:  "key-from-a-vault",
		BaseURL: server.URL + "/v1",
		Model:   "text-embedding-3-small",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	vector, err := embedder.EmbedQuery(context.Background(), "What are my food preferences?")
	fmt.Println(vector, err)
	// Output: [0.6 0.8] <nil>
}

// langchaingo is the interface of github.com/tmc/langchaingo/embeddings.Embedder; its embedders are used as they are.
type langchaingo interface {
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

var _ = func(embedder langchaingo) store.Embedder { return embedder }

// An embedder of langchaingo fits as it is. With an identity, unchanged texts are not embedded again.
func ExampleIdentify() {
	var embedder langchaingo = fixed{vectors: [][]float32{{0.6, 0.8}}}
	config := &store.IndexConfig{Dims: 2, Embed: embedder}
	fmt.Println(config.Validate(), len(config.Hash("a text")))

	config.Embed = store.Identify(embedder, "openai/text-embedding-3-small")
	fmt.Println(config.Validate(), len(config.Hash("a text")))
	// Output:
	// <nil> 0
	// <nil> 32
}

// A store refuses what it could not keep apart.
func ExampleValidateNamespace() {
	for _, namespace := range [][]string{{"users", "42", "preferences"}, {"users", "ann@example.com"}, {"langgraph"}} {
		err := store.ValidateNamespace(namespace)
		fmt.Println(errors.Is(err, store.ErrInvalidNamespace), namespace)
	}
	// Output:
	// false [users 42 preferences]
	// true [users ann@example.com]
	// true [langgraph]
}

// Floats stay floats and integers integers on their way through a store.
func ExampleEncodeValue() {
	encoded, err := store.EncodeValue(map[string]any{"count": 2, "rating": 2.0})
	if err != nil {
		fmt.Println(err)
		return
	}
	decoded, err := store.DecodeValue(encoded)
	fmt.Printf("%s %T %T %v\n", encoded, decoded["count"], decoded["rating"], err)
	// Output: {"count":2,"rating":2.0} int64 float64 <nil>
}
