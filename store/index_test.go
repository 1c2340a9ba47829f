package store_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

// fixed is an embedder that returns the same whatever it is asked.
type fixed struct {
	vectors [][]float32
	err     error
}

func (f fixed) EmbedDocuments(context.Context, []string) ([][]float32, error) {
	return f.vectors, f.err
}

func (f fixed) EmbedQuery(context.Context, string) ([]float32, error) {
	if len(f.vectors) == 0 {
		return nil, f.err
	}
	return f.vectors[0], f.err
}

func TestTextsToEmbedAreThoseOfThePaths(t *testing.T) {
	t.Parallel()
	value := map[string]any{
		"title": "Warp", "n": 1.0, "blank": " \n", "tags": []string{"a", "b"}, "one": []string{"x"}, "gaps": []string{"", "g", " "},
		"list": []any{map[string]any{"0": "name"}}, "two": []any{"p", "q"}, "two[*]": "literal",
	}
	whole := `{"blank": " \n", "gaps": ["", "g", " "], "list": [{"0": "name"}], "n": 1.0, "one": ["x"], "tags": ["a", "b"], ` +
		`"title": "Warp", "two": ["p", "q"], "two[*]": "literal"}`
	for _, c := range []struct {
		fields, index []string
		want          []store.FieldText
	}{
		{nil, nil, []store.FieldText{{Field: "$", Text: whole}}},
		{nil, []string{"$"}, []store.FieldText{{Field: "$", Text: whole}}},
		{[]string{"title", "n", "missing"}, nil, []store.FieldText{{Field: "title", Text: "Warp"}, {Field: "n", Text: "1.0"}}},
		{[]string{"title"}, []string{"n"}, []store.FieldText{{Field: "n", Text: "1.0"}}},
		{[]string{"title"}, store.NoIndex, nil},
		{nil, []string{"blank"}, nil},
		{nil, []string{"tags[*]"}, []store.FieldText{{Field: "tags[*].0", Text: "a"}, {Field: "tags[*].1", Text: "b"}}},
		{nil, []string{"one[*]"}, []store.FieldText{{Field: "one[*]", Text: "x"}}},
		{nil, []string{"gaps[*]"}, []store.FieldText{{Field: "gaps[*].1", Text: "g"}}},
		{nil, []string{"title", "title"}, []store.FieldText{{Field: "title", Text: "Warp"}}},
		{nil, []string{"{title,n}"}, []store.FieldText{{Field: "{title,n}.0", Text: "Warp"}, {Field: "{title,n}.1", Text: "1.0"}}},
	} {
		config := &store.IndexConfig{Fields: c.fields}
		texts, err := config.Texts(value, c.index)
		require.NoError(t, err)
		require.Equal(t, c.want, texts, "fields %q, index %q", c.fields, c.index)
	}
}

func TestFieldsOfTwoPathsHaveDifferentNames(t *testing.T) {
	t.Parallel()
	// The second path names the field as the first names one of its own.
	value := map[string]any{"a": []any{map[string]any{"0": "x"}, map[string]any{"1": "y"}}}
	texts, err := (&store.IndexConfig{}).Texts(value, []string{"a[*]", "a[*].0"})
	require.NoError(t, err)
	require.Equal(t, []store.FieldText{
		{Field: "a[*].0", Text: `{"0": "x"}`}, {Field: "a[*].1", Text: `{"1": "y"}`}, {Field: "a[*].0.0", Text: "x"},
	}, texts)
}

func TestNothingIsEmbeddedWithoutAnIndexOrAValue(t *testing.T) {
	t.Parallel()
	var none *store.IndexConfig
	texts, err := none.Texts(map[string]any{"a": "b"}, []string{"a"})
	require.NoError(t, err)
	require.Empty(t, texts)
	texts, err = (&store.IndexConfig{}).Texts(nil, nil)
	require.NoError(t, err)
	require.Empty(t, texts)
}

func TestTextsOfWhatCannotBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	_, err := (&store.IndexConfig{}).Texts(map[string]any{"a": make(chan int)}, nil)
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	_, err = (&store.IndexConfig{}).Texts(map[string]any{"a": "b"}, []string{"a\x00"})
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	require.ErrorContains(t, err, `the path "a\x00" contains NUL`)
}

func TestHashesTellTextsAndEmbeddersApart(t *testing.T) {
	t.Parallel()
	hash := func(embedder store.Embedder, text string) []byte {
		return (&store.IndexConfig{Embed: embedder}).Hash(text)
	}
	one := hash(store.Identify(fixed{}, "v1"), "text")
	require.Len(t, one, 32)
	require.Equal(t, one, hash(store.Identify(fixed{}, "v1"), "text"))
	require.NotEqual(t, one, hash(store.Identify(fixed{}, "v2"), "text"))
	require.NotEqual(t, one, hash(store.Identify(fixed{}, "v1"), "texts"))
	require.NotEqual(t, hash(store.NewLocalEmbedder(64), "text"), hash(store.NewLocalEmbedder(128), "text"))
	require.Nil(t, hash(fixed{}, "text"))
	require.Nil(t, hash(store.Identify(fixed{}, ""), "text"))
}

func TestVectorsThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	down := errors.New("the service is down")
	good := []float32{0, 1}
	for _, c := range []struct {
		embedder fixed
		texts    []string
		says     string
	}{
		{fixed{err: down}, []string{"a"}, "the service is down"},
		{fixed{vectors: [][]float32{good}}, []string{"a", "b"}, "1 vectors came back for 2 texts"},
		{fixed{vectors: [][]float32{good, {1}}}, []string{"a", "b"}, "text 2 of 2: the vector has 1 dimensions, the index 2"},
		{fixed{vectors: [][]float32{{1, float32(math.NaN())}}}, []string{"a"}, "dimension 2 of the vector is NaN"},
		{fixed{vectors: [][]float32{{float32(math.Inf(1)), 0}}}, []string{"a"}, "dimension 1 of the vector is +Inf"},
		{fixed{vectors: [][]float32{{0, 0}}}, []string{"a"}, "zero in every dimension"},
		{fixed{vectors: [][]float32{nil}}, []string{"a"}, "the vector has 0 dimensions"},
	} {
		config := &store.IndexConfig{Dims: 2, Embed: c.embedder}
		_, err := config.EmbedDocuments(t.Context(), c.texts)
		require.ErrorIs(t, err, store.ErrEmbedding)
		require.ErrorContains(t, err, c.says)
		if len(c.texts) == 1 {
			_, err = config.EmbedQuery(t.Context(), "a")
			require.ErrorIs(t, err, store.ErrEmbedding)
			require.ErrorContains(t, err, c.says)
		}
	}
	config := &store.IndexConfig{Dims: 2, Embed: fixed{err: down}}
	_, err := config.EmbedQuery(t.Context(), "a")
	require.ErrorIs(t, err, down)
	vectors, err := config.EmbedDocuments(t.Context(), nil)
	require.NoError(t, err, "no texts need no call")
	require.Empty(t, vectors)
}

func TestUsableVectorsArePassedOn(t *testing.T) {
	t.Parallel()
	config := &store.IndexConfig{Dims: 2, Embed: fixed{vectors: [][]float32{{3, -4}}}}
	vectors, err := config.EmbedDocuments(t.Context(), []string{"a"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{3, -4}}, vectors)
	vector, err := config.EmbedQuery(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []float32{3, -4}, vector)
}

func TestIndexConfigsAreValidated(t *testing.T) {
	t.Parallel()
	embedder := store.NewLocalEmbedder(0)
	require.NoError(t, (*store.IndexConfig)(nil).Validate())
	require.NoError(t, (&store.IndexConfig{Dims: 1, Embed: embedder}).Validate())
	require.NoError(t, (&store.IndexConfig{
		Dims: 1, Embed: embedder, Distance: store.DistanceInnerProduct, VectorType: store.VectorTypeHalfvec,
	}).Validate())
	for says, config := range map[string]store.IndexConfig{
		"the index has 0 dimensions":     {Embed: embedder},
		"the index has no embedder":      {Dims: 1},
		`there is no distance "hamming"`: {Dims: 1, Embed: embedder, Distance: "hamming"},
		`there is no vector type "bit"`:  {Dims: 1, Embed: embedder, VectorType: "bit"},
	} {
		err := config.Validate()
		require.ErrorIs(t, err, store.ErrInvalidArgument)
		require.ErrorContains(t, err, says)
	}
}
