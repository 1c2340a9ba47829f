package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Store keeps items. It is safe for concurrent use.
type Store interface {
	// Batch does the operations and returns one result for each, in their order. It is all or nothing: after an error
	// nothing has changed. Every read sees the store as it was before the writes of the batch, wherever it stands in it,
	// and of several puts of one key the last one counts.
	Batch(ctx context.Context, ops ...Op) ([]Result, error)
}

// Item is what a store keeps: a JSON object under a namespace and a key.
type Item struct {
	// Namespace is the path of labels under which the item is kept, such as {"users", "42", "preferences"}.
	Namespace []string
	// Key is unique in the namespace.
	Key string
	// Value is the JSON object. [DecodeValue] says which Go types it is made of when it comes from a store.
	Value map[string]any
	// CreatedAt is when the item was first put, UpdatedAt when it was put last. Reading changes neither.
	CreatedAt, UpdatedAt time.Time
}

// SearchItem is an item that a search found.
type SearchItem struct {
	Item
	// Score says how well the item fits the query, higher being better; nil without a query. By vectors it is 1 - distance
	// for cosine, the negative distance for L2, and the dot product for inner product, always of the item's best vector.
	// Scores of text and hybrid searches only compare within one result.
	Score *float64
}

// Op is an operation of a batch: a [GetOp], [PutOp], [SearchOp] or [ListNamespacesOp], by value.
type Op interface {
	validate() error
}

// Result is the result of one operation; which field is set depends on the operation. A PutOp has no result.
type Result struct {
	// Item is the result of a GetOp; nil when the item does not exist or has expired.
	Item *Item
	// Items are the results of a SearchOp, best first.
	Items []SearchItem
	// Namespaces are the results of a ListNamespacesOp, sorted by their labels joined by ".".
	Namespaces [][]string
}

// GetOp reads one item.
type GetOp struct {
	Namespace []string
	Key       string
	// RefreshTTL says whether reading starts the item's time to live anew. Nil means what [TTLConfig] says. Without it the
	// read writes nothing.
	RefreshTTL *bool
}

// PutOp writes one item, replacing what is under its key, or deletes it.
type PutOp struct {
	Namespace []string
	Key       string
	// Value is the JSON object to keep; [EncodeValue] says what it may contain. Nil deletes the item, which need not exist.
	Value map[string]any
	// Index are the paths (see [TextAtPath]) whose texts are embedded for this item. Nil means those of [IndexConfig],
	// [NoIndex] means none. Ignored by a store without an index. The vectors of an item are always those of its last put.
	Index []string
	// TTL is how long after it is put, or read with refresh, the item expires; fractions of a minute count. 0 means the
	// default of [TTLConfig], [NoTTL] never.
	TTL time.Duration
}

// NoTTL as the TTL of a [PutOp] makes the item last, whatever the store's default is.
const NoTTL time.Duration = -1

// NoIndex as the Index of a [PutOp] gives the item no vectors, so that searches by meaning do not find it. It can still be
// read, listed and found by its words.
var NoIndex = []string{}

// SearchOp finds items under a namespace. Without a query it lists them, the one that was put last first; with one it ranks
// them, the best first. Ties are broken by namespace (its labels joined by ".") and key, in byte order. As many items come
// back as Limit asks for, whenever that many match.
type SearchOp struct {
	// NamespacePrefix are the first labels of the namespaces to search, matched as whole labels. Empty searches all.
	NamespacePrefix []string
	// Filter keeps the items whose value has, for every key, what is asked of it: a value it equals, or an object of
	// operators, all of which hold.
	//
	//	Filter: map[string]any{"kind": "food", "rating": map[string]any{"$gte": 3, "$lt": 5}, "author.name": "Ann"}
	//
	// The operators are $eq, $ne, $gt, $gte, $lt, $lte, $in and $nin (with a list) and $exists (with a bool). Equality is that
	// of JSON: 1 equals 1.0, but not "1"; what is missing equals null, and only $exists tells the two apart. $ne and $nin
	// match whatever $eq and $in do not. In order are numbers as numbers, strings by their bytes, two strings that are both
	// timestamps as instants, and false before true; $gt, $gte, $lt and $lte match nothing else, and no type of value is an
	// error. A dotted name is that of a field if the value has it, or else a path into nested objects. An object without
	// operators is a value to equal. An unknown operator, or one in any other place, is ErrInvalidArgument.
	Filter map[string]any
	// Limit is how many items to return at most; 0 means [DefaultSearchLimit].
	Limit int
	// Offset is how many items of the result to leave out first.
	Offset int
	// Query is what to look for, in natural language. [ModeVector] finds items that have vectors, [ModeText] those that have
	// its words.
	Query string
	// Mode is how to rank by Query. Empty means [ModeVector] in a store with an [IndexConfig], otherwise [ModeText].
	Mode Mode
	// RefreshTTL says whether being found starts an item's time to live anew. Nil means what [TTLConfig] says. Without it
	// the search writes nothing.
	RefreshTTL *bool
}

// DefaultSearchLimit is how many items a [SearchOp] without a limit returns at most.
const DefaultSearchLimit = 10

// Mode is how a search ranks by its query.
type Mode string

// The modes of a search. A mode that the store has no index for is ErrNotEnabled.
const (
	// ModeVector ranks by the distance between the vectors of the query and the items: by meaning.
	ModeVector Mode = "vector"
	// ModeText ranks by full-text search: by words.
	ModeText Mode = "text"
	// ModeHybrid merges both rankings by reciprocal rank fusion.
	ModeHybrid Mode = "hybrid"
)

// ListNamespacesOp lists the namespaces that have items.
type ListNamespacesOp struct {
	// Match are conditions that all have to hold.
	Match []MatchCondition
	// MaxDepth cuts namespaces off after so many labels, and lists each that remains once. 0 does not cut.
	MaxDepth int
	// Limit is how many namespaces to return at most; 0 means [DefaultNamespacesLimit].
	Limit int
	// Offset is how many namespaces of the result to leave out first.
	Offset int
}

// DefaultNamespacesLimit is how many namespaces a [ListNamespacesOp] without a limit returns at most.
const DefaultNamespacesLimit = 100

// MatchCondition is what a namespace has to begin or end with. [Prefix] and [Suffix] make one.
type MatchCondition struct {
	Type MatchType
	// Path are whole labels. [Wildcard] stands for exactly one label, whatever it is. An empty path matches everything.
	Path []string
}

// MatchType says which end of a namespace a [MatchCondition] is about.
type MatchType string

// The two ends of a namespace.
const (
	MatchPrefix MatchType = "prefix"
	MatchSuffix MatchType = "suffix"
)

// Wildcard stands for any one label in a [MatchCondition].
const Wildcard = "*"

// Prefix matches namespaces that begin with these labels.
func Prefix(labels ...string) MatchCondition { return MatchCondition{Type: MatchPrefix, Path: labels} }

// Suffix matches namespaces that end with these labels.
func Suffix(labels ...string) MatchCondition { return MatchCondition{Type: MatchSuffix, Path: labels} }

// TTLConfig is what can be chosen about the time to live of a store's items. A nil TTLConfig takes every default.
type TTLConfig struct {
	// DefaultTTL is that of items put without one. 0 means that they last.
	DefaultTTL time.Duration
	// RefreshOnRead says whether reading an item starts its time to live anew, for operations that do not say. Nil means
	// true.
	RefreshOnRead *bool
}

// Of is the time to live that an item put with the TTL of a [PutOp] gets; ok is false if it lasts.
func (c *TTLConfig) Of(ttl time.Duration) (d time.Duration, ok bool) {
	if ttl == 0 && c != nil {
		ttl = c.DefaultTTL
	}
	return ttl, ttl > 0
}

// Refresh says whether a read with this RefreshTTL starts the time to live anew.
func (c *TTLConfig) Refresh(refreshTTL *bool) bool {
	switch {
	case refreshTTL != nil:
		return *refreshTTL
	case c != nil && c.RefreshOnRead != nil:
		return *c.RefreshOnRead
	default:
		return true
	}
}

// Validate says what is wrong with the configuration, as an ErrInvalidArgument. Nil is valid.
func (c *TTLConfig) Validate() error {
	if c != nil && c.DefaultTTL < 0 {
		return invalid("the default TTL is %v: give a positive duration, or 0 if items are to last", c.DefaultTTL)
	}
	return nil
}

// Get reads one item. ErrNotFound when it does not exist or has expired.
func Get(ctx context.Context, s Store, namespace []string, key string) (*Item, error) {
	result, err := do(ctx, s, GetOp{Namespace: namespace, Key: key})
	if err != nil {
		return nil, err
	}
	if result.Item == nil {
		return nil, fmt.Errorf("%w: %q in namespace %q", ErrNotFound, key, namespace)
	}
	return result.Item, nil
}

// Put writes one item with the store's defaults, replacing what is under its key. What a [PutOp] can say beyond that goes
// to Batch. A nil value is ErrInvalidArgument: to remove an item there is [Delete].
func Put(ctx context.Context, s Store, namespace []string, key string, value map[string]any) error {
	if value == nil {
		return invalid("put %q in namespace %q: the value is nil; to remove the item, use Delete", key, namespace)
	}
	_, err := do(ctx, s, PutOp{Namespace: namespace, Key: key, Value: value})
	return err
}

// Delete removes one item. One that does not exist is no error.
func Delete(ctx context.Context, s Store, namespace []string, key string) error {
	_, err := do(ctx, s, PutOp{Namespace: namespace, Key: key})
	return err
}

// Search finds items.
func Search(ctx context.Context, s Store, op SearchOp) ([]SearchItem, error) {
	result, err := do(ctx, s, op)
	return result.Items, err
}

// ListNamespaces lists the namespaces that have items.
func ListNamespaces(ctx context.Context, s Store, op ListNamespacesOp) ([][]string, error) {
	result, err := do(ctx, s, op)
	return result.Namespaces, err
}

func do(ctx context.Context, s Store, op Op) (Result, error) {
	results, err := s.Batch(ctx, op)
	if err != nil {
		return Result{}, err
	}
	if len(results) != 1 {
		return Result{}, fmt.Errorf("store: %T returned %d results for one operation", s, len(results))
	}
	return results[0], nil
}

// Validate checks operations as every Store does before it does any: their namespaces, keys, limits and times to live. Filters
// are left to the store. The error says which operation it is about, and is an ErrInvalidArgument.
func Validate(ops ...Op) error {
	for i, op := range ops {
		if err := validate(op); err != nil {
			return fmt.Errorf("operation %d of %d: %w", i+1, len(ops), err)
		}
	}
	return nil
}

func validate(op Op) error {
	switch op := op.(type) {
	case GetOp, PutOp, SearchOp, ListNamespacesOp:
		return op.validate()
	default:
		return invalid("%T is no operation: pass a GetOp, PutOp, SearchOp or ListNamespacesOp by value", op)
	}
}

func (op GetOp) validate() error {
	if err := validateItem(op.Namespace, op.Key); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	return nil
}

func (op PutOp) validate() error {
	if err := validateItem(op.Namespace, op.Key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if op.TTL < 0 && op.TTL != NoTTL {
		return fmt.Errorf("put: %w", invalid("the TTL is %v: give a positive duration, 0 for the default, or NoTTL", op.TTL))
	}
	if op.Value != nil && op.Namespace[0] == reservedLabel {
		return fmt.Errorf("put: %w: the first label %q is reserved: %q", ErrInvalidNamespace, reservedLabel, op.Namespace)
	}
	return nil
}

func (op SearchOp) validate() error {
	if err := ValidateLabels(op.NamespacePrefix); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	if err := validatePage(op.Limit, op.Offset); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	if err := validateText("query", op.Query); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return op.validateMode()
}

func (op SearchOp) validateMode() error {
	switch op.Mode {
	case "":
		return nil
	case ModeVector, ModeText, ModeHybrid:
		if op.Query == "" {
			return fmt.Errorf("search: %w", invalid("mode %q needs a query", op.Mode))
		}
		return nil
	default:
		return fmt.Errorf("search: %w", invalid("there is no mode %q: it is vector, text or hybrid", op.Mode))
	}
}

func (op ListNamespacesOp) validate() error {
	for _, condition := range op.Match {
		if condition.Type != MatchPrefix && condition.Type != MatchSuffix {
			return fmt.Errorf("list namespaces: %w", invalid("there is no match type %q: it is prefix or suffix", condition.Type))
		}
		if err := ValidateLabels(condition.Path); err != nil {
			return fmt.Errorf("list namespaces: %w", err)
		}
	}
	if op.MaxDepth < 0 {
		return fmt.Errorf("list namespaces: %w", invalid("the maximum depth is %d: give a positive number, or 0 for no limit", op.MaxDepth))
	}
	if err := validatePage(op.Limit, op.Offset); err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	return nil
}

func validatePage(limit, offset int) error {
	if limit < 0 {
		return invalid("the limit is %d: give a positive number, or 0 for the default", limit)
	}
	if offset < 0 {
		return invalid("the offset is %d: it cannot be negative", offset)
	}
	return nil
}

func validateItem(namespace []string, key string) error {
	if len(namespace) == 0 {
		return fmt.Errorf("%w: it is empty; an item needs at least one label", ErrInvalidNamespace)
	}
	if err := ValidateLabels(namespace); err != nil {
		return err
	}
	return validateText("key", key)
}

// reservedLabel may not be the first label of an item's namespace.
const reservedLabel = "langgraph"

// ValidateNamespace checks the namespace of an item that is to be put: it has a label, the first is not "langgraph", and
// the labels are as [ValidateLabels] wants them. The error is an ErrInvalidNamespace.
func ValidateNamespace(namespace []string) error {
	return PutOp{Namespace: namespace, Value: map[string]any{}}.validate()
}

// ValidateLabels checks labels, of a namespace or a part of one: none is empty or contains ".", NUL or broken UTF-8. The
// error is an ErrInvalidNamespace.
func ValidateLabels(labels []string) error {
	for i, label := range labels {
		if fault := labelFault(label); fault != "" {
			return fmt.Errorf("%w: label %d of %q %s", ErrInvalidNamespace, i+1, labels, fault)
		}
	}
	return nil
}

// JoinNamespace is a namespace as the tables and the SQL functions have it: its labels joined by ".".
func JoinNamespace(labels []string) string { return strings.Join(labels, ".") }

// SplitNamespace is the reverse of [JoinNamespace]. The empty text has no labels.
func SplitNamespace(text string) []string {
	if text == "" {
		return []string{}
	}
	return slices.Clip(strings.Split(text, "."))
}
