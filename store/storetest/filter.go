package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgweft/pgweft/store"
)

var filterTests = []test{
	{"equality is that of JSON", filterEquality},
	{"numbers are in order as numbers", filterNumbers},
	{"strings are in order by their bytes", filterStrings},
	{"timestamps are in order as instants", filterTimestamps},
	{"what is of another type does not match and is no error", filterMistyped},
	{"$ne and $nin match whatever $eq and $in do not", filterNotEqual},
	{"$in and $nin take a list", filterIn},
	{"$exists tells null from nothing", filterExists},
	{"operators on one field all have to hold", filterRange},
	{"fields all have to hold", filterFields},
	{"a dotted name is a path into objects", filterPaths},
	{"a dotted name that a value has comes before a path", filterDottedNames},
	{"an object without operators is a value", filterObjects},
	{"names may be any text", filterNames},
	{"an empty filter matches everything", filterEmpty},
	{"what is no filter is refused", filterRefuses},
	{"a filter holds in namespaces below the prefix only", filterAndPrefix},
}

// holding puts items whose field x has a value each, under the names as keys, and one item without the field.
func (s *space) holding(values map[string]any) {
	s.Helper()
	ops := []store.Op{store.PutOp{Namespace: s.ns(), Key: "absent", Value: value{"y": 1}}}
	for name, v := range values {
		ops = append(ops, store.PutOp{Namespace: s.ns(), Key: name, Value: value{"x": v, "y": 1}})
	}
	s.batch(ops...)
}

// filters are conditions on the field x, and the keys of the items that match, in order and separated by commas.
type filters []struct {
	condition any
	want      string
}

func (s *space) match(filters filters) {
	s.Helper()
	for _, f := range filters {
		s.matches(value{"x": f.condition}, f.want)
	}
}

func (s *space) matches(filter value, want string) {
	s.Helper()
	op := store.SearchOp{NamespacePrefix: s.ns(), Filter: filter, Limit: 1000}
	keys := []string{}
	for _, item := range s.search(op) {
		keys = append(keys, item.Key)
	}
	slices.Sort(keys)
	s.equal(fmt.Sprintf("filter %v", filter), strings.Join(keys, ","), want)
}

func filterEquality(s *space) {
	s.holding(map[string]any{
		"1": 1, "1.0": 1.0, "'1'": "1", "true": true, "'true'": "true", "false": false, "null": nil, "0": 0, "''": "", "'a'": "a",
		"'A'": "A", "[]": []any{}, "[1]": []any{1}, "[1,2]": []any{1, 2}, "{}": value{}, "{a:1}": value{"a": 1},
		"{a:1,b:2}": value{"a": 1, "b": 2}, "big": int64(1)<<53 + 1, "big-1": int64(1) << 53, "quote": `it's "q" \`,
	})
	for _, c := range (filters{
		{1, "1,1.0"},
		{1.0, "1,1.0"},
		{"1", "'1'"},
		{true, "true"},
		{"true", "'true'"},
		{false, "false"},
		{nil, "absent,null"},
		{0, "0"},
		{"", "''"},
		{"a", "'a'"},
		{[]any{}, "[]"},
		{[]any{1}, "[1]"},
		{[]int{1, 2}, "[1,2]"},
		{[]any{2, 1}, ""},
		{int64(1)<<53 + 1, "big"},
		{`it's "q" \`, "quote"},
		{2, ""},
		{"' or true --", ""},
	}) {
		s.match(filters{c, {value{"$eq": c.condition}, c.want}})
	}
	s.match(filters{{value{"$eq": value{"a": 1}}, "{a:1}"}, {value{"$eq": value{}}, "{}"}, {value{"$eq": value{"$gt": 1}}, ""}})
}

func filterNumbers(s *space) {
	s.holding(map[string]any{
		"-1": -1, "0": 0, "0.5": 0.5, "2": 2, "10": 10, "9.99": 9.99, "1e3": 1e3, "-0.25": -0.25, "big": int64(1)<<53 + 1,
	})
	s.match(filters{
		{value{"$gt": 2}, "10,1e3,9.99,big"},
		{value{"$gte": 2}, "10,1e3,2,9.99,big"},
		{value{"$lt": 10}, "-0.25,-1,0,0.5,2,9.99"},
		{value{"$lte": 10}, "-0.25,-1,0,0.5,10,2,9.99"},
		{value{"$gt": 9.5}, "10,1e3,9.99,big"},
		{value{"$lt": -0.5}, "-1"},
		{value{"$gt": int64(1) << 53}, "big"},
		{value{"$gte": 2.0}, "10,1e3,2,9.99,big"},
		{value{"$lt": 1e9}, "-0.25,-1,0,0.5,10,1e3,2,9.99"},
		{value{"$gt": 1e300}, ""},
		{value{"$gt": -1e300}, "-0.25,-1,0,0.5,10,1e3,2,9.99,big"},
	})
}

func filterStrings(s *space) {
	s.holding(map[string]any{"'10'": "10", "'9'": "9", "'A'": "A", "'a'": "a", "'b'": "b", "''": "", "'é'": "é", "'線'": "線"})
	s.match(filters{
		{value{"$gt": "9"}, "'A','a','b','é','線'"},
		{value{"$lt": "9"}, "'','10'"},
		{value{"$gte": "a"}, "'a','b','é','線'"},
		{value{"$lte": "a"}, "'','10','9','A','a'"},
		{value{"$gt": "a", "$lt": "é"}, "'b'"},
		{value{"$gt": "é"}, "'線'"},
		{value{"$gte": ""}, "'','10','9','A','a','b','é','線'"},
	})
}

func filterTimestamps(s *space) {
	s.holding(map[string]any{
		"nine": "2026-04-07T09:00:00Z", "ten": "2026-04-07T10:00:00+00:00", "ten in Berlin": "2026-04-07T12:00:00+02:00",
		"eleven": "2026-04-07T11:00:00.5Z", "before": "2026-04-06T23:59:59-12:00",
	})
	s.match(filters{
		{value{"$gt": "2026-04-07T10:00:00Z"}, "before,eleven"},
		{value{"$gte": "2026-04-07T10:00:00Z"}, "before,eleven,ten,ten in Berlin"},
		{value{"$lt": "2026-04-07T12:00:00+02:00"}, "nine"},
		{value{"$lte": "2026-04-07T05:00:00-05:00"}, "nine,ten,ten in Berlin"},
		{value{"$gt": "2026-04-07T10:59:59Z", "$lt": "2026-04-07T11:30:00Z"}, "eleven"},
		{"2026-04-07T10:00:00Z", ""},
	})
}

func filterMistyped(s *space) {
	everything := map[string]any{
		"5": 5, "'5'": "5", "'five'": "five", "true": true, "null": nil, "[5]": []any{5}, "{a:5}": value{"a": 5}, "''": "",
		"date": "2026-04-07T10:00:00Z", "bad date": "2026-13-45T99:00:00Z", "dates": "tomorrow", "1e9999": "1e9999", "NaN": "NaN",
	}
	s.holding(everything)
	s.match(filters{
		{value{"$gt": 4}, "5"},
		{value{"$lt": 6}, "5"},
		{value{"$gte": "5", "$lte": "5"}, "'5'"},
		{value{"$gt": true}, ""},
		{value{"$lte": true}, "true"},
		{value{"$gt": false}, "true"},
		{value{"$gte": nil}, ""},
		{value{"$lte": []any{5}}, ""},
		{value{"$gte": value{"a": 5}}, ""},
		{value{"$eq": "5"}, "'5'"},
		{value{"$in": []any{"5", nil, true}}, "'5',absent,null,true"},
	})
	// Whatever is compared with whatever, by whichever operator, nothing fails.
	for _, operator := range []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"} {
		for name, operand := range everything {
			if _, err := s.store.Batch(s.Context(), store.SearchOp{
				NamespacePrefix: s.ns(), Filter: value{"x": value{operator: operand}},
			}); err != nil {
				s.Errorf("%s %s fails: %v", operator, name, err)
			}
		}
	}
}

func filterNotEqual(s *space) {
	s.holding(map[string]any{"1": 1, "1.0": 1.0, "2": 2, "'1'": "1", "null": nil, "[1]": []any{1}})
	s.match(filters{
		{value{"$ne": 1}, "'1',2,[1],absent,null"},
		{value{"$ne": "1"}, "1,1.0,2,[1],absent,null"},
		{value{"$ne": nil}, "'1',1,1.0,2,[1]"},
		{value{"$ne": []any{1}}, "'1',1,1.0,2,absent,null"},
		{value{"$ne": "other"}, "'1',1,1.0,2,[1],absent,null"},
		{value{"$nin": []any{1, nil}}, "'1',2,[1]"},
		{value{"$ne": 1, "$exists": true}, "'1',2,[1],null"},
	})
}

func filterIn(s *space) {
	s.holding(map[string]any{"1": 1, "2": 2, "'a'": "a", "'b'": "b", "null": nil, "true": true, "[1]": []any{1}, "{a:1}": value{"a": 1}})
	s.match(filters{
		{value{"$in": []any{1, "b"}}, "'b',1"},
		{value{"$in": []any{1.0}}, "1"},
		{value{"$in": []string{"a", "b", "c"}}, "'a','b'"},
		{value{"$in": []any{nil, true}}, "absent,null,true"},
		{value{"$in": []any{[]any{1}, value{"a": 1}}}, "[1],{a:1}"},
		{value{"$in": []any{}}, ""},
		{value{"$nin": []any{1, "b", true}}, "'a',2,[1],absent,null,{a:1}"},
		{value{"$nin": []any{}}, "'a','b',1,2,[1],absent,null,true,{a:1}"},
	})
}

func filterExists(s *space) {
	s.holding(map[string]any{"1": 1, "null": nil, "''": "", "{}": value{}, "{a:null}": value{"a": nil}})
	s.match(filters{
		{value{"$exists": true}, "'',1,null,{a:null},{}"},
		{value{"$exists": false}, "absent"},
		{value{"$exists": true, "$ne": nil}, "'',1,{a:null},{}"},
		{value{"$exists": false, "$ne": 5}, "absent"},
		{value{"$exists": false, "$gt": 0}, ""},
	})
	s.matches(value{"x.a": value{"$exists": true}}, "{a:null}")
	s.matches(value{"x.a": value{"$exists": false}}, "'',1,absent,null,{}")
	s.matches(value{"nowhere.at.all": value{"$exists": false}}, "'',1,absent,null,{a:null},{}")
}

func filterRange(s *space) {
	s.holding(map[string]any{"1": 1, "2": 2, "3": 3, "4": 4})
	s.match(filters{
		{value{"$gt": 1, "$lt": 4}, "2,3"},
		{value{"$gte": 1, "$lte": 4, "$ne": 2}, "1,3,4"},
		{value{"$gt": 3, "$lt": 2}, ""},
		{value{"$in": []any{1, 2, 3}, "$nin": []any{2}}, "1,3"},
	})
}

func filterFields(s *space) {
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "a", Value: value{"kind": "food", "rating": 5, "tags": []any{"hot"}}},
		store.PutOp{Namespace: s.ns(), Key: "b", Value: value{"kind": "food", "rating": 2}},
		store.PutOp{Namespace: s.ns(), Key: "c", Value: value{"kind": "sport", "rating": 5}},
	)
	s.matches(value{"kind": "food", "rating": value{"$gte": 3}}, "a")
	s.matches(value{"kind": "food", "rating": value{"$lt": 3}, "tags": value{"$exists": false}}, "b")
	s.matches(value{"kind": "sport", "rating": 2}, "")
	s.matches(value{"rating": 5}, "a,c")
}

func filterPaths(s *space) {
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "a", Value: value{"author": value{"name": "Ann", "age": 40, "pets": value{"cat": 2}}}},
		store.PutOp{Namespace: s.ns(), Key: "b", Value: value{"author": value{"name": "Bob", "age": 9}}},
		store.PutOp{Namespace: s.ns(), Key: "c", Value: value{"author": "Ann", "name": "Ann"}},
		store.PutOp{Namespace: s.ns(), Key: "d", Value: value{"author": []any{value{"name": "Ann"}}}},
		store.PutOp{Namespace: s.ns(), Key: "e", Value: value{"author": nil}},
	)
	s.matches(value{"author.name": "Ann"}, "a")
	s.matches(value{"author.age": value{"$lt": 10}}, "b")
	s.matches(value{"author.age": value{"$lt": 100}}, "a,b")
	s.matches(value{"author.pets.cat": value{"$gte": 2}}, "a")
	s.matches(value{"author.name": value{"$ne": "Ann"}}, "b,c,d,e")
	s.matches(value{"author.name": value{"$ne": "Ann", "$exists": true}}, "b")
	s.matches(value{"author.name.first": "Ann"}, "")
	s.matches(value{"author.name": "Ann", "author.age": 40}, "a")
}

func filterDottedNames(s *space) {
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "dotted", Value: value{"a.b": 1}},
		store.PutOp{Namespace: s.ns(), Key: "nested", Value: value{"a": value{"b": 1}}},
		store.PutOp{Namespace: s.ns(), Key: "both", Value: value{"a.b": 1, "a": value{"b": 2}}},
	)
	s.matches(value{"a.b": 1}, "both,dotted,nested")
	s.matches(value{"a.b": 2}, "")
	s.matches(value{"a.b": value{"$gt": 0}}, "both,dotted,nested")
}

func filterObjects(s *space) {
	s.holding(map[string]any{
		"{a:1}": value{"a": 1}, "{a:1,b:2}": value{"a": 1, "b": 2}, "{}": value{}, "1": 1, "{a:{b:1}}": value{"a": value{"b": 1}},
	})
	s.match(filters{
		{value{"a": 1}, "{a:1}"},
		{value{"b": 2, "a": 1}, "{a:1,b:2}"},
		{value{"a": value{"b": 1}}, "{a:{b:1}}"},
		{value{"a": 2}, ""},
	})
}

func filterNames(s *space) {
	for name, field := range identifiers() {
		s.put(s.ns(), name, value{field: 1})
	}
	for name, field := range identifiers() {
		s.matches(value{field: 1}, name)
		s.matches(value{field: value{"$gt": 0}}, name)
	}
}

func filterEmpty(s *space) {
	s.holding(map[string]any{"1": 1})
	s.matches(nil, "1,absent")
	s.matches(value{}, "1,absent")
}

func filterRefuses(s *space) {
	s.holding(map[string]any{"1": 1})
	for what, filter := range map[string]value{
		"an unknown operator":             {"x": value{"$regex": "a"}},
		"an operator in place of a field": {"$and": []any{value{"x": 1}}},
		"an operator among fields":        {"x": 1, "$or": []any{}},
		"operators mixed with names":      {"x": value{"$gt": 1, "a": 1}},
		"an operator of another case":     {"x": value{"$GT": 1}},
		"an operator inside a value":      {"x": value{"a": value{"$gt": 1}}},
		"an operator in a list":           {"x": []any{value{"$gt": 1}}},
		"$in without a list":              {"x": value{"$in": 1}},
		"$nin without a list":             {"x": value{"$nin": "a"}},
		"$exists without a bool":          {"x": value{"$exists": 1}},
		"a value with NUL":                {"x": "a\x00"},
		"a name with NUL":                 {"x\x00": 1},
		"a value that is not JSON":        {"x": make(chan int)},
	} {
		s.refuses(what, store.ErrInvalidArgument, store.SearchOp{NamespacePrefix: s.ns(), Filter: filter})
		s.refuses(what+" where nothing could match", store.ErrInvalidArgument,
			store.SearchOp{NamespacePrefix: s.ns("empty"), Filter: filter})
	}
}

func filterAndPrefix(s *space) {
	s.put(s.ns("a"), "k", value{"n": 1})
	s.put(s.ns("a", "b"), "k", value{"n": 1})
	s.put(s.ns("a"), "other", value{"n": 2})
	s.put(s.ns("c"), "k", value{"n": 1})
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns("a"), Filter: value{"n": 1}}, "a/k", "a.b/k")
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a", "b"), Filter: value{"n": value{"$gt": 1}}})
}
