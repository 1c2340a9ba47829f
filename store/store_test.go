package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

// recorded is a Store that notes what it is asked and answers as told.
type recorded struct {
	ops     []store.Op
	results []store.Result
	err     error
}

func (r *recorded) Batch(_ context.Context, ops ...store.Op) ([]store.Result, error) {
	r.ops = append(r.ops, ops...)
	return r.results, r.err
}

func TestHelpersAreBatchesOfOne(t *testing.T) {
	t.Parallel()
	ns := []string{"users", "42"}
	item := store.Item{Namespace: ns, Key: "k", Value: map[string]any{"n": int64(1)}}
	s := &recorded{results: []store.Result{{
		Item: &item, Items: []store.SearchItem{{Item: item}}, Namespaces: [][]string{ns},
	}}}
	got, err := store.Get(t.Context(), s, ns, "k")
	require.NoError(t, err)
	require.Equal(t, &item, got)
	require.NoError(t, store.Put(t.Context(), s, ns, "k", item.Value))
	require.NoError(t, store.Delete(t.Context(), s, ns, "k"))
	search := store.SearchOp{NamespacePrefix: ns, Query: "q", Limit: 3}
	found, err := store.Search(t.Context(), s, search)
	require.NoError(t, err)
	require.Equal(t, []store.SearchItem{{Item: item}}, found)
	list := store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix("users"), store.Suffix("*", "docs")}, MaxDepth: 2}
	namespaces, err := store.ListNamespaces(t.Context(), s, list)
	require.NoError(t, err)
	require.Equal(t, [][]string{ns}, namespaces)
	require.Equal(t, []store.Op{
		store.GetOp{Namespace: ns, Key: "k"},
		store.PutOp{Namespace: ns, Key: "k", Value: item.Value},
		store.PutOp{Namespace: ns, Key: "k"},
		search, list,
	}, s.ops)
	require.Equal(t, store.MatchCondition{Type: store.MatchSuffix, Path: []string{"*", "docs"}}, list.Match[1])
}

func TestHelpersPassErrorsOn(t *testing.T) {
	t.Parallel()
	failure := errors.New("the database is down")
	s := &recorded{err: failure}
	_, err := store.Get(t.Context(), s, []string{"a"}, "k")
	require.ErrorIs(t, err, failure)
	require.ErrorIs(t, store.Put(t.Context(), s, []string{"a"}, "k", map[string]any{}), failure)
	require.ErrorIs(t, store.Delete(t.Context(), s, []string{"a"}, "k"), failure)
	_, err = store.Search(t.Context(), s, store.SearchOp{})
	require.ErrorIs(t, err, failure)
	_, err = store.ListNamespaces(t.Context(), s, store.ListNamespacesOp{})
	require.ErrorIs(t, err, failure)
}

func TestGetOfNothingSaysWhatWasNotFound(t *testing.T) {
	t.Parallel()
	_, err := store.Get(t.Context(), &recorded{results: make([]store.Result, 1)}, []string{"users", "42"}, "k")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.EqualError(t, err, `item not found: "k" in namespace ["users" "42"]`)
}

func TestPutOfNilIsNoDelete(t *testing.T) {
	t.Parallel()
	s := &recorded{results: make([]store.Result, 1)}
	err := store.Put(t.Context(), s, []string{"a"}, "k", nil)
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	require.ErrorContains(t, err, "use Delete")
	require.Empty(t, s.ops)
}

func TestAStoreThatReturnsTooFewResultsIsAnError(t *testing.T) {
	t.Parallel()
	_, err := store.Get(t.Context(), &recorded{}, []string{"a"}, "k")
	require.EqualError(t, err, "store: *store_test.recorded returned 0 results for one operation")
}

func TestValidateAcceptsWhatStoresTake(t *testing.T) {
	t.Parallel()
	ns := []string{"it's", "100%", `a\b_c`, "線 🧶", "*", "langgraph"}
	require.NoError(t, store.Validate(
		store.GetOp{Namespace: ns}, store.PutOp{Namespace: ns, Value: map[string]any{}, TTL: store.NoTTL},
		store.PutOp{Namespace: ns, Key: "k", Value: map[string]any{}, TTL: time.Nanosecond, Index: store.NoIndex},
		store.PutOp{Namespace: []string{"langgraph"}, Key: "left by another client"}, store.GetOp{Namespace: []string{"langgraph"}},
		store.SearchOp{}, store.SearchOp{NamespacePrefix: ns, Query: "q", Mode: store.ModeHybrid, Limit: 1, Offset: 1},
		store.ListNamespacesOp{}, store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix(), store.Suffix(ns...)}, MaxDepth: 1},
	))
	require.NoError(t, store.Validate())
}

func TestValidateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	a := []string{"a"}
	for _, c := range []struct {
		op   store.Op
		kind error
		says string
	}{
		{store.GetOp{}, store.ErrInvalidNamespace, "get: invalid argument: namespace: it is empty"},
		{store.PutOp{Namespace: []string{}}, store.ErrInvalidNamespace, "put: invalid argument: namespace: it is empty"},
		{store.GetOp{Namespace: []string{"a", ""}}, store.ErrInvalidNamespace, `label 2 of ["a" ""] is empty`},
		{store.GetOp{Namespace: []string{"a.b"}}, store.ErrInvalidNamespace, `label 1 of ["a.b"] contains ".", which separates labels`},
		{store.GetOp{Namespace: []string{"a\x00"}}, store.ErrInvalidNamespace, "contains NUL"},
		{store.GetOp{Namespace: []string{"\xff"}}, store.ErrInvalidNamespace, "is not UTF-8"},
		{store.GetOp{Namespace: a, Key: "\x00"}, store.ErrInvalidArgument, `the key "\x00" contains NUL`},
		{store.PutOp{Namespace: a, Key: "\xff"}, store.ErrInvalidArgument, `the key "\xff" is not UTF-8`},
		{
			store.PutOp{Namespace: []string{"langgraph", "x"}, Value: map[string]any{}},
			store.ErrInvalidNamespace, `the first label "langgraph" is reserved`,
		},
		{store.PutOp{Namespace: a, TTL: -time.Second}, store.ErrInvalidArgument, "the TTL is -1s"},
		{store.SearchOp{NamespacePrefix: []string{"a.b"}}, store.ErrInvalidNamespace, "search: "},
		{store.SearchOp{Limit: -1}, store.ErrInvalidArgument, "the limit is -1"},
		{store.SearchOp{Offset: -2}, store.ErrInvalidArgument, "the offset is -2"},
		{store.SearchOp{Query: "\x00"}, store.ErrInvalidArgument, "the query"},
		{store.SearchOp{Mode: store.ModeText}, store.ErrInvalidArgument, `mode "text" needs a query`},
		{store.SearchOp{Mode: "fuzzy", Query: "q"}, store.ErrInvalidArgument, `there is no mode "fuzzy"`},
		{store.ListNamespacesOp{Limit: -1}, store.ErrInvalidArgument, "list namespaces: invalid argument: the limit is -1"},
		{store.ListNamespacesOp{MaxDepth: -1}, store.ErrInvalidArgument, "the maximum depth is -1"},
		{
			store.ListNamespacesOp{Match: []store.MatchCondition{{Type: "infix"}}},
			store.ErrInvalidArgument,
			`there is no match type "infix"`,
		},
		{store.ListNamespacesOp{Match: []store.MatchCondition{store.Suffix("")}}, store.ErrInvalidNamespace, "is empty"},
		{&store.GetOp{Namespace: a}, store.ErrInvalidArgument, "*store.GetOp is no operation: pass"},
		{nil, store.ErrInvalidArgument, "<nil> is no operation"},
	} {
		err := store.Validate(store.SearchOp{}, c.op)
		require.ErrorIs(t, err, c.kind, "%+v", c.op)
		require.ErrorIs(t, err, store.ErrInvalidArgument, "%+v", c.op)
		require.ErrorContains(t, err, "operation 2 of 2: ")
		require.ErrorContains(t, err, c.says)
	}
}

func TestNamespacesOfItemsAreValidated(t *testing.T) {
	t.Parallel()
	require.NoError(t, store.ValidateNamespace([]string{"users", "langgraph"}))
	for _, bad := range [][]string{nil, {""}, {"a.b"}, {"langgraph"}, {"a", "\x00"}} {
		require.ErrorIs(t, store.ValidateNamespace(bad), store.ErrInvalidNamespace, "%q", bad)
	}
	require.NoError(t, store.ValidateLabels(nil))
}

func TestNamespacesAreJoinedAndSplit(t *testing.T) {
	t.Parallel()
	for text, labels := range map[string][]string{"": {}, "a": {"a"}, "a.b c.線": {"a", "b c", "線"}} {
		require.Equal(t, text, store.JoinNamespace(labels))
		require.Equal(t, labels, store.SplitNamespace(text))
	}
}

func TestTTLConfigFillsInWhatAnOperationLeavesOut(t *testing.T) {
	t.Parallel()
	var none *store.TTLConfig
	hour := &store.TTLConfig{DefaultTTL: time.Hour, RefreshOnRead: new(false)}
	for _, c := range []struct {
		config  *store.TTLConfig
		ttl     time.Duration
		want    time.Duration
		expires bool
	}{
		{none, 0, 0, false},
		{none, time.Second, time.Second, true},
		{none, store.NoTTL, store.NoTTL, false},
		{&store.TTLConfig{}, 0, 0, false},
		{hour, 0, time.Hour, true},
		{hour, time.Millisecond, time.Millisecond, true},
		{hour, store.NoTTL, store.NoTTL, false},
	} {
		got, expires := c.config.Of(c.ttl)
		require.Equal(t, c.expires, expires)
		require.Equal(t, c.want, got)
	}
	require.True(t, none.Refresh(nil))
	require.True(t, (&store.TTLConfig{}).Refresh(nil))
	require.False(t, none.Refresh(new(false)))
	require.False(t, hour.Refresh(nil))
	require.True(t, hour.Refresh(new(true)))
	require.NoError(t, none.Validate())
	require.NoError(t, hour.Validate())
	require.ErrorIs(t, (&store.TTLConfig{DefaultTTL: -1}).Validate(), store.ErrInvalidArgument)
}
