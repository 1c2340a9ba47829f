package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Embedder turns texts into vectors. Its methods are those of langchaingo's embeddings.Embedder, so that one fits as it is.
// It is safe for concurrent use.
type Embedder interface {
	// EmbedDocuments returns one vector for each text, in their order.
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
	// EmbedQuery returns the vector of a query. Some models embed queries differently from documents.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// Identified is an Embedder that can say which vectors it makes, so that unchanged texts need not be embedded again.
type Identified interface {
	Embedder
	// Identity is different whenever the same text gets another vector: it names the model, its version and its settings.
	Identity() string
}

// Identify gives an embedder an [Identified.Identity], such as the name of its model. Without one, every put embeds the
// item's texts again, because nobody can know whether the stored vectors are of this embedder.
func Identify(embedder Embedder, identity string) Identified {
	return identified{embedder, identity}
}

type identified struct {
	Embedder
	identity string
}

func (e identified) Identity() string { return e.identity }

// IndexConfig is how a store makes items findable by meaning.
type IndexConfig struct {
	// Dims is the number of dimensions of the embedder's vectors.
	Dims int
	// Distance is how vectors are compared. Empty means that of the index in the database, or [DistanceCosine] where there
	// is none to ask.
	Distance Distance
	// Embed makes the vectors.
	Embed Embedder
	// Fields are the paths (see [TextAtPath]) of the texts to embed, each text as a vector of its own. Empty means {"$"}: the
	// whole value as JSON. A [PutOp] can have its own.
	Fields []string
	// VectorType is how vectors are stored. Empty means that of the index in the database.
	VectorType VectorType
}

// Distance is how two vectors are compared.
type Distance string

// The distances. [SearchItem.Score] says which score each gives.
const (
	DistanceCosine       Distance = "cosine"
	DistanceL2           Distance = "l2"
	DistanceInnerProduct Distance = "inner_product"
)

// VectorType is how vectors are stored.
type VectorType string

// The vector types of pgvector: 4 bytes a dimension, or 2 at less precision.
const (
	VectorTypeVector  VectorType = "vector"
	VectorTypeHalfvec VectorType = "halfvec"
)

// Validate says what is wrong with the configuration, as an ErrInvalidArgument. Nil is valid: no index.
func (c *IndexConfig) Validate() error {
	switch {
	case c == nil:
		return nil
	case c.Dims <= 0:
		return invalid("the index has %d dimensions: set Dims to the number the embedder's vectors have", c.Dims)
	case c.Embed == nil:
		return invalid("the index has no embedder: set Embed, for instance to NewLocalEmbedder")
	}
	switch c.Distance {
	case "", DistanceCosine, DistanceL2, DistanceInnerProduct:
	default:
		return invalid("there is no distance %q: it is cosine, l2 or inner_product", c.Distance)
	}
	switch c.VectorType {
	case "", VectorTypeVector, VectorTypeHalfvec:
	default:
		return invalid("there is no vector type %q: it is vector or halfvec", c.VectorType)
	}
	return nil
}

// FieldText is a text to embed and the name of the vector it becomes.
type FieldText struct{ Field, Text string }

// Texts are the texts that a put of this value embeds, by the paths in index or, if that is nil, those of the configuration.
// A path with one text gives the field its own name; one with several names them path.0, path.1 and so on, as LangGraph does.
// Texts without anything but space are left out, because they mean nothing and most services refuse them.
func (c *IndexConfig) Texts(value map[string]any, index []string) ([]FieldText, error) {
	if c == nil || value == nil {
		return nil, nil
	}
	paths := index
	switch {
	case index == nil && len(c.Fields) == 0:
		paths = []string{"$"}
	case index == nil:
		paths = c.Fields
	}
	plain, err := plainObject(value)
	if err != nil {
		return nil, err
	}
	var found []FieldText
	named := map[string]bool{}
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue
		}
		if err := validateText("path", path); err != nil {
			return nil, err
		}
		texts := textsAt(plain, path)
		for j, text := range texts {
			if strings.TrimSpace(text) == "" {
				continue
			}
			field := path
			if len(texts) > 1 {
				field += "." + strconv.Itoa(j)
			}
			// Two paths can give one name, as "a[*]" and "a[*].0" may.
			for named[field] {
				field += ".0"
			}
			named[field] = true
			found = append(found, FieldText{Field: field, Text: text})
		}
	}
	return found, nil
}

// Hash identifies the vector of a text: the hash of the text and the embedder's identity, 32 bytes. Nil when the embedder
// has no identity ([Identify] gives it one).
func (c *IndexConfig) Hash(text string) []byte {
	embedder, ok := c.Embed.(Identified)
	if !ok || embedder.Identity() == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(embedder.Identity() + "\x00" + text))
	return sum[:]
}

// EmbedDocuments has the embedder embed texts and checks what it returns: a vector for each, of Dims finite numbers that are
// not all zero. Any failure is an ErrEmbedding. No texts need no call.
func (c *IndexConfig) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := c.Embed.EmbedDocuments(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEmbedding, err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%w: %d vectors came back for %d texts", ErrEmbedding, len(vectors), len(texts))
	}
	for i, vector := range vectors {
		if err := c.check(vector); err != nil {
			return nil, fmt.Errorf("%w: text %d of %d: %w", ErrEmbedding, i+1, len(texts), err)
		}
	}
	return vectors, nil
}

// EmbedQuery has the embedder embed a query, and checks what it returns as [IndexConfig.EmbedDocuments] does.
func (c *IndexConfig) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	vector, err := c.Embed.EmbedQuery(ctx, text)
	if err == nil {
		err = c.check(vector)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: query: %w", ErrEmbedding, err)
	}
	return vector, nil
}

func (c *IndexConfig) check(vector []float32) error {
	if len(vector) != c.Dims {
		return fmt.Errorf("the vector has %d dimensions, the index %d: set Dims to what the model gives", len(vector), c.Dims)
	}
	zero := true
	for i, x := range vector {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("dimension %d of the vector is %v", i+1, x)
		}
		zero = zero && x == 0
	}
	if zero {
		return fmt.Errorf("the vector is zero in every dimension, which has no direction to compare")
	}
	return nil
}
