package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

func embed(t *testing.T, dims int, text string) []float32 {
	t.Helper()
	vector, err := store.NewLocalEmbedder(dims).EmbedQuery(t.Context(), text)
	require.NoError(t, err)
	return vector
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// The vectors are kept in databases, so they must not change from one machine, or one release, to the next. If they have
// to, the identity has to change with them.
func TestLocalVectorsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	require.Equal(t, "pgweft/hashed-ngrams/v1/384", store.NewLocalEmbedder(0).Identity())
	hash := sha256.New()
	for _, text := range []string{
		"", "!", "a", "I love eating spicy Sichuan food.", "My favorite sport is swimming.", "ÄÖÜ straße naïve", "我喜欢吃川菜 and tea",
		"ไทย ភាសា ລາວ", "tea tea tea tea", strings.Repeat("wefts & warps ", 1000), "x1 2y 3.14 e\u0301", "🧶",
	} {
		for _, dims := range []int{1, 64, 384, 1536} {
			for _, x := range embed(t, dims, text) {
				var bits [4]byte
				binary.LittleEndian.PutUint32(bits[:], math.Float32bits(x))
				hash.Write(bits[:])
			}
		}
	}
	require.Equal(t, "f0b8e3827120e671ff8c27bb45d067a19ec1e50f80040eb7881ccd7e6b2ac123", hex.EncodeToString(hash.Sum(nil)))
}

func TestLocalVectorsHaveLengthOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "!?", "a", "the same words", "川菜", strings.Repeat("long ", 10000)} {
		for _, dims := range []int{1, 2, 64, 384} {
			vector := embed(t, dims, text)
			require.Len(t, vector, dims)
			require.InDelta(t, 1, cosine(vector, vector), 1e-5, "%.20q in %d dimensions", text, dims)
		}
	}
}

func TestQueriesAreEmbeddedAsDocumentsAre(t *testing.T) {
	t.Parallel()
	embedder := store.NewLocalEmbedder(64)
	require.Equal(t, 64, embedder.Dims())
	documents, err := embedder.EmbedDocuments(t.Context(), []string{"one", "two", "one"})
	require.NoError(t, err)
	require.Len(t, documents, 3)
	require.Equal(t, documents[0], documents[2])
	require.NotEqual(t, documents[0], documents[1])
	require.Equal(t, embed(t, 64, "two"), documents[1])
	require.Equal(t, store.DefaultLocalDims, store.LocalEmbedder{}.Dims())
}

func TestTextsThatShareWordsAreNearer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, near, far string }{
		{"What are my food preferences?", "I love eating spicy Sichuan food.", "My favorite sport is swimming."},
		{"What is my favorite sport?", "My favorite sport is swimming.", "I love eating spicy Sichuan food."},
		{"What are my food preferences?", `{"text": "I love eating spicy Sichuan food."}`, `{"text": "My favorite sport is swimming."}`},
		{"swim", "swimming", "running"},
		{"Where does Ann live?", "Ann lives in Oslo", "Bob works in Bergen"},
		{"UPPER CASE", "upper case", "lower words"},
		{"我喜欢吃什么菜", "我喜欢吃川菜", "他每天去游泳"},
		{"bread and butter", "bread and butter pudding", "butter churn and rye"},
		{"dog bites man", "dog bites man today", "man bites dog today"},
	} {
		for _, dims := range []int{64, 384, 1536} {
			text := embed(t, dims, c.text)
			require.Greater(t, cosine(text, embed(t, dims, c.near)), cosine(text, embed(t, dims, c.far)),
				"%q is nearer to %q than to %q in %d dimensions", c.text, c.near, c.far, dims)
		}
	}
}

func TestTextsThatShareNothingAreFarApart(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0, cosine(embed(t, 1536, "green tea"), embed(t, 1536, "blocked drain pipe")), 0.12)
}

func TestLocalEmbedderSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	_, err := store.NewLocalEmbedder(-1).EmbedQuery(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	require.ErrorContains(t, err, "-1 dimensions")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.NewLocalEmbedder(0).EmbedDocuments(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkLocalEmbedder(b *testing.B) {
	text := []string{"I love eating spicy Sichuan food, and after dinner a walk along the river."}
	embedder := store.NewLocalEmbedder(0)
	for b.Loop() {
		if _, err := embedder.EmbedDocuments(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}
