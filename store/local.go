package store

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode"

	"github.com/zeebo/xxh3"
)

// LocalEmbedder is an [Embedder] that needs no service, no model and no network: it hashes the words of a text, and pieces
// of them, into a vector of length 1. Texts that share words, or parts of words as "swim" and "swimming" do, are near each
// other; synonyms are not, which takes a model. The same text gives the same bits on every machine, and in every release of
// this package that gives the same identity. It is for tests, demos and stores that must work offline. The zero value has
// [DefaultLocalDims].
type LocalEmbedder struct{ dims int }

// DefaultLocalDims is how many dimensions a LocalEmbedder has unless it is told otherwise.
const DefaultLocalDims = 384

// NewLocalEmbedder makes an embedder of vectors with so many dimensions; 0 means [DefaultLocalDims]. With fewer than 64,
// texts that share nothing may look alike.
func NewLocalEmbedder(dims int) LocalEmbedder { return LocalEmbedder{dims: dims} }

var _ Identified = LocalEmbedder{}

// Dims is the number of dimensions of the vectors.
func (e LocalEmbedder) Dims() int {
	if e.dims == 0 {
		return DefaultLocalDims
	}
	return e.dims
}

// Identity names the method, its version and the dimensions.
func (e LocalEmbedder) Identity() string { return fmt.Sprintf("pgweft/hashed-ngrams/v1/%d", e.Dims()) }

// EmbedDocuments returns a vector for each text. It fails when the context is done, or the number of dimensions is negative.
func (e LocalEmbedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
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

// EmbedQuery returns the vector of a text: queries are embedded as documents are.
func (e LocalEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.Dims() < 0 {
		return nil, invalid("the local embedder has %d dimensions: give a positive number", e.Dims())
	}
	sums := e.sums(text)
	if vector, ok := unit(sums); ok {
		return vector, nil
	}
	// No words, or their hashes cancel out: the text as a whole still tells it apart.
	sums[xxh3.HashString(text)%uint64(len(sums))] = 1
	vector, _ := unit(sums)
	return vector, nil
}

// sums adds up each feature of the text in the dimension and with the sign that its hash says, so that features that meet
// in a dimension cancel out on average. They are integers, because sums of floats differ in their last bits between
// processors that fuse multiplication with addition and those that do not.
func (e LocalEmbedder) sums(text string) []int64 {
	sums := make([]int64, e.Dims())
	for name, f := range featuresOf(text) {
		hash := xxh3.HashString(name)
		// A word said twice counts more than one said once, but not twice as much.
		weight := f.weight * int64(bits.Len(f.times))
		if hash>>63 == 1 {
			weight = -weight
		}
		sums[hash%uint64(len(sums))] += weight
	}
	return sums
}

// unit scales to length 1; false if everything is zero. Each of its operations on floats is exactly rounded everywhere.
func unit(sums []int64) ([]float32, bool) {
	var squares int64
	for _, sum := range sums {
		squares += sum * sum
	}
	if squares == 0 {
		return nil, false
	}
	length := math.Sqrt(float64(squares))
	vector := make([]float32, len(sums))
	for i, sum := range sums {
		vector[i] = float32(float64(sum) / length)
	}
	return vector, true
}

// feature is something that two texts can have in common.
type feature struct {
	weight int64
	times  uint
}

type features map[string]feature

func (f features) add(name string, weight int64) {
	f[name] = feature{weight: weight, times: f[name].times + 1}
}

// The weights of features. Whole words tell most, long ones more than short ones, which are mostly grammar; pieces of a
// word make its other forms similar; pairs of words make their order count.
const (
	weightOfLetter  = 6
	countedLetters  = 5
	weightOfPiece   = 6
	weightOfPair    = 8
	weightOfUnit    = 20
	lettersOfPieces = 3
)

func featuresOf(text string) features {
	found := features{}
	previous := ""
	for _, word := range words(text) {
		addWord(found, []rune(word))
		if previous != "" {
			found.add("pair "+previous+" "+word, weightOfPair)
		}
		previous = word
	}
	return found
}

func addWord(found features, word []rune) {
	if isWrittenWithoutSpaces(word) {
		addRun(found, word)
		return
	}
	found.add("word "+string(word), weightOfLetter*int64(min(len(word), countedLetters)))
	bounded := append(append([]rune{'<'}, word...), '>')
	for length := lettersOfPieces; length <= lettersOfPieces+1; length++ {
		for i := 0; i+length <= len(bounded); i++ {
			found.add("piece "+string(bounded[i:i+length]), weightOfPiece)
		}
	}
}

// addRun is for scripts whose words nothing separates: single characters and pairs of them stand in for words.
func addRun(found features, run []rune) {
	for i, character := range run {
		found.add("unit "+string(character), weightOfPiece)
		if i > 0 {
			found.add("unit "+string(run[i-1:i+1]), weightOfUnit)
		}
	}
}

func isWrittenWithoutSpaces(word []rune) bool {
	return unicode.In(word[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// words are the runs of letters, digits and marks, in lower case. A run also ends where a script begins or ends that is
// written without spaces.
func words(text string) []string {
	var found []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			found = append(found, string(word))
			word = word[:0]
		}
	}
	for _, r := range strings.ToLower(text) {
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			end()
			continue
		}
		if len(word) > 0 && !unicode.Is(unicode.M, r) && isWrittenWithoutSpaces(word) != isWrittenWithoutSpaces([]rune{r}) {
			end()
		}
		word = append(word, r)
	}
	end()
	return found
}
