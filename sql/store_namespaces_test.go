package sql_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// namespaceQuery is the arguments of store_list_namespaces. A maxDepth of 0 is no cut.
type namespaceQuery struct {
	Types, Paths            []string
	MaxDepth, Limit, Offset int
}

func listNamespaces(t *testing.T, db querier, q namespaceQuery) []string {
	t.Helper()
	return column[string](t, db, `select langgraph.store_list_namespaces($1, $2, nullif($3, 0), $4, $5)`,
		append([]string{}, q.Types...), append([]string{}, q.Paths...), q.MaxDepth, q.Limit, q.Offset)
}

// storeNamespaces puts an item in each namespace, past all checks.
func storeNamespaces(t *testing.T, db querier, namespaces ...string) {
	t.Helper()
	exec(t, db, `insert into langgraph.store (prefix, key, value)
		select p, k, '{}' from unnest($1::text[]) p, unnest('{a,b}'::text[]) k on conflict do nothing`, namespaces)
}

func TestNamespacesAreListed(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeNamespaces(t, db, "a", "a!", "a-b", "a-b.c", "a.b", "a.b.c", "a.b-c", "a.c", "a.c.d.e", "a/b", "a0", "ab.c", "B", "b.b", "b.%", "b._", `b.\`, `b."'`,
		"b.*", "b.(x", "é.b", "gone", "gone.x")
	exec(t, db, "update langgraph.store set expires_at = now() where prefix like 'gone%' or prefix = 'a.b.c' or (prefix = 'a.c' and key = 'a')")
	all := []string{"B", "a", "a!", "a-b", "a-b.c", "a.b", "a.b-c", "a.c", "a.c.d.e", "a/b", "a0", "ab.c", `b."'`, "b.%", "b.(x", "b.*", `b.\`, "b._", "b.b", "é.b"}
	for name, c := range map[string]struct {
		query namespaceQuery
		want  []string
	}{
		"all by byte, without those that expired":       {namespaceQuery{}, all},
		"an empty path matches everything":              {namespaceQuery{Types: []string{"prefix", "suffix"}, Paths: []string{"", ""}}, all},
		"whole labels of a prefix":                      {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"a"}}, []string{"a", "a.b", "a.b-c", "a.c", "a.c.d.e"}},
		"two labels":                                    {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"a.b"}}, []string{"a.b"}},
		"a label with a minus":                          {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"a-b"}}, []string{"a-b", "a-b.c"}},
		"a slash":                                       {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"a/b"}}, []string{"a/b"}},
		"a prefix that is not there":                    {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"nowhere"}}, nil},
		"a prefix whose items all expired":              {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"gone"}}, nil},
		"any first label":                               {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"*.b"}}, []string{"a.b", "b.b", "é.b"}},
		"any second label":                              {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"a.*.d"}}, []string{"a.c.d.e"}},
		"exactly one label":                             {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"*.*.*"}}, []string{"a.c.d.e"}},
		"a suffix":                                      {namespaceQuery{Types: []string{"suffix"}, Paths: []string{"b"}}, []string{"a.b", "b.b", "é.b"}},
		"a suffix of two labels with a wildcard":        {namespaceQuery{Types: []string{"suffix"}, Paths: []string{"d.*"}}, []string{"a.c.d.e"}},
		"a suffix that is all":                          {namespaceQuery{Types: []string{"suffix"}, Paths: []string{"ab.c"}}, []string{"ab.c"}},
		"prefix and suffix":                             {namespaceQuery{Types: []string{"prefix", "suffix"}, Paths: []string{"a", "c"}}, []string{"a.c"}},
		"overlapping":                                   {namespaceQuery{Types: []string{"prefix", "suffix"}, Paths: []string{"a.c", "a.c"}}, []string{"a.c"}},
		"two prefixes":                                  {namespaceQuery{Types: []string{"prefix", "prefix"}, Paths: []string{"a.*.d", "a.c"}}, []string{"a.c.d.e"}},
		"prefixes that exclude each other":              {namespaceQuery{Types: []string{"prefix", "prefix"}, Paths: []string{"a", "b"}}, nil},
		"a percent sign is a percent sign":              {namespaceQuery{Types: []string{"suffix"}, Paths: []string{"%"}}, []string{"b.%"}},
		"an underscore is an underscore":                {namespaceQuery{Types: []string{"prefix"}, Paths: []string{"b._"}}, []string{"b._"}},
		"a backslash":                                   {namespaceQuery{Types: []string{"suffix"}, Paths: []string{`\`}}, []string{`b.\`}},
		"quotes":                                        {namespaceQuery{Types: []string{"prefix"}, Paths: []string{`b."'`}}, []string{`b."'`}},
		"a parenthesis":                                 {namespaceQuery{Types: []string{"suffix"}, Paths: []string{"(x"}}, []string{"b.(x"}},
		"depth 1, each once":                            {namespaceQuery{MaxDepth: 1}, []string{"B", "a", "a!", "a-b", "a/b", "a0", "ab", "b", "é"}},
		"depth 2":                                       {namespaceQuery{MaxDepth: 2, Types: []string{"prefix"}, Paths: []string{"a"}}, []string{"a", "a.b", "a.b-c", "a.c"}},
		"the condition is on the uncut namespace":       {namespaceQuery{MaxDepth: 1, Types: []string{"suffix"}, Paths: []string{"c"}}, []string{"a", "a-b", "ab"}},
		"a limit":                                       {namespaceQuery{Limit: 3}, all[:3]},
		"an offset":                                     {namespaceQuery{Limit: 3, Offset: 4}, all[4:7]},
		"an offset past the end":                        {namespaceQuery{Offset: 100}, nil},
		"the limit counts what is cut":                  {namespaceQuery{MaxDepth: 1, Limit: 2, Offset: 3}, []string{"a-b", "a/b"}},
		"a limit and an offset near the largest number": {namespaceQuery{Limit: 2147483647, Offset: 2147483647}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.query.Limit == 0 {
				c.query.Limit = 100
			}
			require.Equal(t, append([]string{}, c.want...), append([]string{}, listNamespaces(t, db, c.query)...))
		})
	}
	t.Run("none for a limit of none", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, listNamespaces(t, db, namespaceQuery{}))
	})
	t.Run("a hundred by default", func(t *testing.T) {
		t.Parallel()
		inTx(t, db, func(tx pgx.Tx) {
			exec(t, tx, "insert into langgraph.store (prefix, key, value) select 'many.' || i, 'k', '{}' from generate_series(1, 200) i")
			require.Equal(t, 100, value[int](t, tx, "select count(*) from langgraph.store_list_namespaces()"))
		})
	})
}

func TestANamespaceCutFromOneThatSortsLaterStillComesFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored   []string
		maxDepth int
		want     []string
	}{
		"at the first label":                {[]string{"a-b", "a.c"}, 1, []string{"a", "a-b"}},
		"at the second":                     {[]string{"x.a-b", "x.a.c"}, 2, []string{"x.a", "x.a-b"}},
		"more than one that sorts between":  {[]string{"a-b", "a-b-c", "a.c"}, 1, []string{"a", "a-b", "a-b-c"}},
		"the shortest of several":           {[]string{"a-b-c", "a-b.x", "a.c"}, 1, []string{"a", "a-b", "a-b-c"}},
		"the shortest of several, deeper":   {[]string{"x.a-b-c", "x.a-b.x", "x.a.c"}, 2, []string{"x.a", "x.a-b", "x.a-b-c"}},
		"the least character":               {[]string{"a\x01", "a\x01\x01", "a\x01.b", "a.c"}, 1, []string{"a", "a\x01", "a\x01\x01"}},
		"of three labels":                   {[]string{"x.y.a b!c", "x.y.a b.c", "x.y.a.b"}, 3, []string{"x.y.a", "x.y.a b", "x.y.a b!c"}},
		"a letter of more bytes before it":  {[]string{"é-b", "é.c"}, 1, []string{"é", "é-b"}},
		"a line break within a label":       {[]string{"x.a\nb", "x.a.b"}, 2, []string{"x.a", "x.a\nb"}},
		"a slash is past the dot, and last": {[]string{"a/b", "a.c", "a-b"}, 1, []string{"a", "a-b", "a/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeNamespaces(t, db, c.stored...)
			for limit := 1; limit <= len(c.want); limit++ {
				for offset := range len(c.want) {
					require.Equal(t, c.want[offset:min(offset+limit, len(c.want))],
						listNamespaces(t, db, namespaceQuery{MaxDepth: c.maxDepth, Limit: limit, Offset: offset}), "limit %d, offset %d", limit, offset)
				}
			}
		})
	}
}

func TestConditionsOnNamespacesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for args, want := range map[string]refusal{
		`'{prefix}', '{}'`:                          {"LG002", "invalid match conditions", "1 types and 0 paths", "one length"},
		`null, '{}'`:                                {"LG002", "invalid match conditions", "null types and 0 paths", "one length"},
		`'{}', null`:                                {"LG002", "invalid match conditions", "0 types and null paths", "one length"},
		`'{infix}', '{a}'`:                          {"LG002", "invalid match condition", "Type 'infix', path 'a'", "prefix or suffix"},
		`'{prefix,null}', '{a,b}'`:                  {"LG002", "invalid match condition", "Type NULL, path 'b'", "prefix or suffix"},
		`'{prefix}', '{null}'`:                      {"LG002", "invalid match condition", "path NULL", "labels joined"},
		`'{prefix}', '{a..b}'`:                      {"LG002", "invalid match condition", "path 'a..b'", "none of them empty"},
		`'{suffix}', '{.}'`:                         {"LG002", "invalid match condition", "path '.'", "none of them empty"},
		`'{}', '{}', 0`:                             {"LG002", "invalid list of namespaces", "max_depth '0'", "at least 1"},
		`'{}', '{}', null, -1`:                      {"LG002", "invalid list of namespaces", "limit '-1'", "not negative"},
		`'{}', '{}', null, null`:                    {"LG002", "invalid list of namespaces", "limit NULL", "not negative"},
		`'{}', '{}', null, 1, -1`:                   {"LG002", "invalid list of namespaces", "offset '-1'", "not negative"},
		`'{}', '{}', null, 1, null`:                 {"LG002", "invalid list of namespaces", "offset NULL", "not negative"},
		`'{wrong}', '{a}', null, 0`:                 {"LG002", "invalid match condition", "Type 'wrong'", "prefix or suffix"},
		`p_match_types => '{prefix}', p_limit => 1`: {"LG002", "invalid match conditions", "1 types and 0 paths", "one length"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, "select langgraph.store_list_namespaces("+args+")"))
		})
	}
}

// modelNamespaces is what store_list_namespaces has to give, the slow and obvious way.
func modelNamespaces(live []string, q namespaceQuery) []string {
	var found []string
	for _, namespace := range live {
		labels := strings.Split(namespace, ".")
		if !modelMatches(labels, q) {
			continue
		}
		if q.MaxDepth > 0 {
			labels = labels[:min(q.MaxDepth, len(labels))]
		}
		found = append(found, strings.Join(labels, "."))
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[min(q.Offset, len(found)):min(q.Offset+q.Limit, len(found))]
}

func modelMatches(labels []string, q namespaceQuery) bool {
	for i, path := range q.Paths {
		if path == "" {
			continue
		}
		pattern := strings.Split(path, ".")
		if len(pattern) > len(labels) {
			return false
		}
		part := labels[:len(pattern)]
		if q.Types[i] == "suffix" {
			part = labels[len(labels)-len(pattern):]
		}
		for j, label := range pattern {
			if label != "*" && label != part[j] {
				return false
			}
		}
	}
	return true
}

// modelLabels meet and part around the bytes of "." and its neighbours.
var modelLabels = []string{
	"a", "a-", "a--", "a-b", "a-b-c", "a-/", "a/", "a/b", "a/-", "a!", "a\x01", "a\x01\x01", "a-\x01", "a b", "a\n", "a,", "a0", "aa", "A", "-", "/", "!", "\x01",
	"*", "**", "%", "_", `\`, `\a`, "(", "[a]", "$", "^", "?", "+", "|", "{1}", "'", `"`, "é", "é-", "e\u0301", "日本", "\U0001F600", "\U0010FFFF", "b", "a:b", "a#",
}

func modelPath(random *rand.Rand, labels []string, longest int, wildcards float64) string {
	path := make([]string, 1+random.IntN(longest))
	for i := range path {
		path[i] = pick(random, labels...)
		if random.Float64() < wildcards {
			path[i] = "*"
		}
	}
	return strings.Join(path, ".")
}

func modelQuery(random *rand.Rand, labels, stored []string) namespaceQuery {
	q := namespaceQuery{Limit: pick(random, 1, 2, 3, 5, 10, 100), Offset: pick(random, 0, 0, 1, 2, 7), MaxDepth: pick(random, 0, 0, 1, 1, 2, 2, 3, 4)}
	for range pick(random, 0, 0, 1, 1, 1, 2, 3) {
		kind := pick(random, "prefix", "prefix", "suffix")
		path := modelPath(random, labels, 3, 0.3)
		if random.IntN(2) == 0 { // of one that is there, so that something matches
			of := strings.Split(pick(random, stored...), ".")
			n := 1 + random.IntN(len(of))
			part := slices.Clone(of[:n])
			if kind == "suffix" {
				part = slices.Clone(of[len(of)-n:])
			}
			if random.IntN(3) == 0 {
				part[random.IntN(n)] = "*"
			}
			path = strings.Join(part, ".")
		}
		if random.IntN(12) == 0 {
			path = ""
		}
		q.Types, q.Paths = append(q.Types, kind), append(q.Paths, path)
	}
	return q
}

func TestNamespacesAreThoseOfAModel(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	matched := 0
	for range 40 {
		labels := make([]string, 2+random.IntN(8))
		for i := range labels {
			labels[i] = pick(random, modelLabels...)
		}
		var live, expired []string
		for range 1 + random.IntN(40) {
			namespace := modelPath(random, labels, 4, 0)
			if random.IntN(8) == 0 {
				expired = append(expired, namespace)
			} else {
				live = append(live, namespace)
			}
		}
		inTx(t, db, func(tx pgx.Tx) {
			storeNamespaces(t, tx, expired...)
			exec(t, tx, "update langgraph.store set expires_at = now() - interval '1 minute', ttl_minutes = 1")
			exec(t, tx, `insert into langgraph.store (prefix, key, value, expires_at)
				select p, 'live', '{}', case when random() < 0.5 then now() + interval '1 hour' end from unnest($1::text[]) p on conflict do nothing`, live)
			for range 50 {
				query := modelQuery(random, labels, slices.Concat(live, expired))
				want, got := modelNamespaces(live, query), listNamespaces(t, tx, query)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s\nlive %q\nexpired %q\nquery %+q %+v", diff, live, expired, query.Paths, query)
				}
				matched += len(want)
			}
		})
	}
	require.Greater(t, matched, 2000, "the queries find something")
}

// buffers is how many pages a query touches, those of the functions that it calls included. A first run fills the caches
// of the session.
func buffers(t *testing.T, db querier, sql string) int {
	t.Helper()
	exec(t, db, sql)
	text := value[string](t, db, "explain (analyze, buffers, timing off, format json) "+sql)
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	require.Len(t, plans, 1)
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

func TestReadsOfANamespaceTouchFewPagesOfALargeStore(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	// 50 tenants of 20 users of 50 items, of which each seventh has expired; beside each tenant one whose name sorts before its ".".
	exec(t, conn, `insert into langgraph.store (prefix, key, value, expires_at)
		select format('t%s.u%s', i / 1000, i % 20), 'k' || i, jsonb_build_object('n', i, 'text', repeat(md5(i::text), 8)),
			case when i % 7 = 0 then now() - interval '1 hour' end
		from generate_series(0, 49999) i`)
	exec(t, conn, `insert into langgraph.store (prefix, key, value) select format('t%s-x.u', i), 'k', '{}' from generate_series(0, 49) i`)
	exec(t, conn, "vacuum analyze langgraph.store")
	require.Greater(t, buffers(t, conn, "select count(value) from langgraph.store"), 2000, "pages of the whole table")

	list := func(args string) string { return "select * from langgraph.store_list_namespaces(" + args + ")" }
	for _, c := range []struct {
		sql        string
		rows, most int
	}{
		{list("'{prefix}', '{t7}'"), 20, 200},
		{list("'{prefix}', '{t7.u3}'"), 1, 20},
		{list("'{prefix}', '{t7.*}', 1"), 1, 40},
		{list("'{prefix}', '{t7-x}'"), 1, 20},
		{list("'{prefix}', '{nothing}'"), 0, 20},
		{list("'{}', '{}', 1, 10"), 10, 100},
		{list("'{}', '{}', 1, 10, 20"), 10, 200},
		{list("'{}', '{}', null, 10"), 10, 100},
		{list("'{}', '{}', 1, 1000"), 100, 800},
		{"select * from langgraph.store_search('t7.u3', p_refresh_ttl => false)", 10, 200},
		{"select * from langgraph.store_search('t7.u3', p_limit => 5, p_refresh_ttl => false)", 5, 200},
		{"select * from langgraph.store_search('nothing', p_refresh_ttl => false)", 0, 40},
		{"select langgraph.store_has_more_than('t7', 100)", 1, 30},
		{"select * from langgraph.store_get('{t7.u3,t7.u3,nothing}', '{k7003,k7023,k}', '{f,f,f}')", 2, 30},
		{"select langgraph.store_delete('{nothing}', '{k}')", 1, 20},
	} {
		require.Equal(t, c.rows, value[int](t, conn, "select count(*) from ("+c.sql+") c"), c.sql)
		got := buffers(t, conn, c.sql)
		t.Logf("%5d pages: %s", got, c.sql)
		require.LessOrEqual(t, got, c.most, "%s touches more pages than expected", c.sql)
	}
}
