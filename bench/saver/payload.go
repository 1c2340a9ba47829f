package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

// The payloads. Peers get the first three.
const (
	small      = "small"       // four channels of 200 bytes, which savers may keep inline in the checkpoint
	twentyKB   = "20k"         // a conversation of about 20 KB
	oneMB      = "1m"          // a conversation of about 1 MB
	smallBlobs = "small blobs" // four channels of lists with 200 bytes each, which stand in rows of their own
)

// smallBodies is how many bodies the small payloads have.
const smallBodies = 4

func payloadTitle(name string) string {
	return map[string]string{small: "4 x 200 B inline", smallBlobs: "4 x 200 B in rows", twentyKB: "20 KB", oneMB: "1 MB"}[name]
}

// describedMessage is a message as payloads.json has it.
type describedMessage struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	ID      string `json:"id"`
}

// body is the state of one checkpoint.
type body struct {
	described map[string]any // as payloads.json has it
	values    map[string]any // as a saver is given it
	digest    uint64
	sample    string
	bytes     []byte // all values serialized, one after the other: what the floor writes
}

// payloads are, by name, the bodies that checkpoints have in turn. Bodies of one name have the same sizes.
type payloads map[string][]*body

// conversations are the sizes in bytes and the number of bodies of payloads with messages.
var conversations = map[string]struct{ size, bodies int }{twentyKB: {20 << 10, 4}, oneMB: {1 << 20, 2}}

func newPayloads(seed uint64) (payloads, error) {
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same payloads for the same seed are the point
	writer := newWriter(rng)
	all := payloads{}
	for range smallBodies {
		inline, lists := map[string]any{}, map[string]any{}
		for _, channel := range []string{"a", "b", "c", "d"} {
			inline[channel], lists[channel] = writer.text(200), []any{writer.text(200)}
		}
		all[small] = append(all[small], &body{described: inline})
		all[smallBlobs] = append(all[smallBlobs], &body{described: lists})
	}
	for _, name := range []string{twentyKB, oneMB} {
		for number := range conversations[name].bodies {
			all[name] = append(all[name], &body{described: map[string]any{"messages": writer.conversation(conversations[name].size, number)}})
		}
	}
	for name, bodies := range all {
		for _, b := range bodies {
			if err := b.complete(); err != nil {
				return nil, fmt.Errorf("payload %s: %w", name, err)
			}
		}
	}
	return all, nil
}

func (b *body) complete() error {
	b.values = make(map[string]any, len(b.described))
	for channel, value := range b.described {
		if list, ok := value.([]describedMessage); ok {
			value = asMessages(list)
		}
		b.values[channel] = value
	}
	b.digest, b.sample = digest(b.values), sampleOf(b.values)
	for _, channel := range sortedKeys(b.values) {
		typed, err := serde.Default().Dump(b.values[channel])
		if err != nil {
			return err
		}
		b.bytes = append(b.bytes, typed.Data...)
	}
	return nil
}

func asMessages(described []describedMessage) []any {
	list := make([]any, len(described))
	for i, m := range described {
		switch m.Type {
		case "human":
			list[i] = messages.Human(m.Content, messages.WithID(m.ID))
		case "ai":
			list[i] = messages.AI(m.Content, messages.WithID(m.ID))
		default:
			list[i] = messages.Tool(m.Content, m.ID, messages.WithID(m.ID))
		}
	}
	return list
}

// of is the body of the checkpoint with this number.
func (p payloads) of(name string, number int) *body { return p[name][number%len(p[name])] }

// write is what one task writes: a value of a channel of the first body, again and again.
type write struct {
	channel string
	value   any
}

func (p payloads) writes(name string, count int) []write {
	var parts []write
	values := p.of(name, 0).values
	for _, channel := range sortedKeys(values) {
		if list, ok := values[channel].([]any); ok {
			for _, element := range list {
				parts = append(parts, write{channel, []any{element}})
			}
		} else {
			parts = append(parts, write{channel, values[channel]})
		}
	}
	all := make([]write, count)
	for i := range all {
		all[i] = parts[i%len(parts)]
	}
	return all
}

// save writes payloads.json for the peers.
func (p payloads) save(path string) error {
	described := map[string][]map[string]any{}
	for _, name := range []string{small, twentyKB, oneMB} {
		for _, b := range p[name] {
			described[name] = append(described[name], map[string]any{"channels": b.described})
		}
	}
	text, err := json.Marshal(described)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // a peer may run as another user
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var errRead = errors.New("what was read is not what was written")

// digest tells states apart: every channel's name and all of its text.
func digest(values map[string]any) uint64 {
	hash := xxh3.New()
	for _, channel := range sortedKeys(values) {
		_, _ = hash.WriteString(channel)
		digestValue(hash, values[channel])
	}
	return hash.Sum64()
}

func digestValue(hash *xxh3.Hasher, value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			digestValue(hash, element)
		}
		_, _ = fmt.Fprintf(hash, "[%d]", len(v))
	case messages.Message:
		for _, text := range []string{string(v.Role()), v.ID(), v.Text()} {
			_, _ = hash.WriteString(text)
			_, _ = hash.Write([]byte{0})
		}
	case string:
		_, _ = hash.WriteString(v)
		_, _ = hash.Write([]byte{0})
	default:
		_, _ = fmt.Fprintf(hash, "%T %v", v, v)
	}
}

// check compares what was read with a body.
func (b *body) check(values map[string]any) error {
	if got := digest(values); got != b.digest {
		return fmt.Errorf("%w: %s with digest %x, not %s with %x", errRead, sampleOf(values), got, b.sample, b.digest)
	}
	return nil
}

// sampleOf is the short digest that peers answer with.
func sampleOf(values map[string]any) string {
	if list, ok := values["messages"].([]any); ok {
		last := 0
		if len(list) > 0 {
			if m, isMessage := list[len(list)-1].(messages.Message); isMessage {
				last = len(m.Text())
			}
		}
		return fmt.Sprintf("messages=%d;last=%d", len(list), last)
	}
	texts, size := 0, 0
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts++
			size += len(text)
		}
	}
	return fmt.Sprintf("channels=%d;bytes=%d", texts, size)
}

// expectedSample is what a peer answers where it did and read what it should have.
func (p payloads) expectedSample(op operation) string {
	sample := p.of(op.Payload, 0).sample
	switch op.Name {
	case put, get, getByID, storePut, storeGet:
		return sample
	case list:
		return fmt.Sprintf("%d:%s", min(op.Limit, op.Checkpoints), sample)
	case storeSearch:
		return fmt.Sprintf("%d:%s", op.Limit, sample)
	case storeBatch:
		return fmt.Sprintf("%d:%s", op.Writes, sample)
	case putWrites:
		size := 0
		for _, w := range p.writes(op.Payload, op.Writes) {
			size += textLength(w.value)
		}
		return fmt.Sprintf("writes=%d;bytes=%d", op.Writes, size)
	}
	return ""
}

func textLength(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case messages.Message:
		return len(v.Text())
	case []any:
		return textLength(v[len(v)-1])
	}
	return 0
}

// corpus is the beginning of "Alice's Adventures in Wonderland" (Lewis Carroll, 1865; public domain).
const corpus = `Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or
twice she had peeped into the book her sister was reading, but it had no pictures or conversations in it, "and what is the
use of a book," thought Alice "without pictures or conversations?" So she was considering in her own mind (as well as she
could, for the hot day made her feel very sleepy and stupid), whether the pleasure of making a daisy-chain would be worth
the trouble of getting up and picking the daisies, when suddenly a White Rabbit with pink eyes ran close by her. There was
nothing so very remarkable in that; nor did Alice think it so very much out of the way to hear the Rabbit say to itself,
"Oh dear! Oh dear! I shall be late!" (when she thought it over afterwards, it occurred to her that she ought to have
wondered at this, but at the time it all seemed quite natural); but when the Rabbit actually took a watch out of its
waistcoat-pocket, and looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind that she
had never before seen a rabbit with either a waistcoat-pocket, or a watch to take out of it, and burning with curiosity, she
ran across the field after it, and fortunately was just in time to see it pop down a large rabbit-hole under the hedge. In
another moment down went Alice after it, never once considering how in the world she was to get out again. The rabbit-hole
went straight on like a tunnel for some way, and then dipped suddenly down, so suddenly that Alice had not a moment to think
about stopping herself before she found herself falling down a very deep well. Either the well was very deep, or she fell
very slowly, for she had plenty of time as she went down to look about her and to wonder what was going to happen next.
First, she tried to look down and make out what she was coming to, but it was too dark to see anything; then she looked at
the sides of the well, and noticed that they were filled with cupboards and book-shelves; here and there she saw maps and
pictures hung upon pegs. She took down a jar from one of the shelves as she passed; it was labelled "ORANGE MARMALADE", but
to her great disappointment it was empty: she did not like to drop the jar for fear of killing somebody underneath, so
managed to put it into one of the cupboards as she fell past it.`

// writer makes text whose words follow one another as in the corpus, with a number now and then, as tools answer.
type writer struct {
	rng   *rand.Rand
	words []string
	next  map[string][]string
}

func newWriter(rng *rand.Rand) *writer {
	w := &writer{rng: rng, words: strings.Fields(corpus), next: map[string][]string{}}
	for i, word := range w.words {
		w.next[word] = append(w.next[word], w.words[(i+1)%len(w.words)])
	}
	return w
}

// text has exactly so many bytes.
func (w *writer) text(size int) string {
	var text strings.Builder
	word := w.words[w.rng.IntN(len(w.words))]
	for text.Len() < size {
		text.WriteString(word)
		text.WriteByte(' ')
		if w.rng.IntN(12) == 0 {
			fmt.Fprintf(&text, "%d ", w.rng.IntN(100_000))
			word = w.words[w.rng.IntN(len(w.words))]
			continue
		}
		followers := w.next[word]
		word = followers[w.rng.IntN(len(followers))]
	}
	return text.String()[:size]
}

// messageSizes are the bytes of a question, a tool's answer and an answer, as conversations with agents have them.
var messageSizes = []struct {
	kind string
	size int
}{{"human", 120}, {"ai", 240}, {"tool", 900}, {"ai", 600}, {"human", 60}, {"ai", 420}}

// messageOverhead is about what a serialized message takes beside its text.
const messageOverhead = 180

func (w *writer) conversation(size, number int) []describedMessage {
	var list []describedMessage
	for i := 0; size > 0; i++ {
		m := messageSizes[i%len(messageSizes)]
		list = append(list, describedMessage{
			Type: m.kind, Content: w.text(m.size),
			ID: fmt.Sprintf("%08x-%04x-4%03x-8000-%012x", w.rng.Uint32(), number, i%4096, i),
		})
		size -= m.size + messageOverhead
	}
	return list
}
