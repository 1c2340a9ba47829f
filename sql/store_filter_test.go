package sql_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// filtered are the keys that a filter keeps, in their order.
func filtered(t *testing.T, db querier, filter string) []string {
	t.Helper()
	return column[string](t, db, `select key from langgraph.store_search('f', $1, 1000, 0, false) order by key`, filter)
}

// filterItems has an item for each kind of value of "a", by the name of its kind.
var filterItems = map[string]string{
	"absent":    `{}`,
	"null":      `{"a": null}`,
	"false":     `{"a": false}`,
	"true":      `{"a": true}`,
	"2":         `{"a": 2}`,
	"10":        `{"a": 10.0}`,
	"-0.5":      `{"a": -0.5}`,
	"huge":      `{"a": 1e40}`,
	"s empty":   `{"a": ""}`,
	"s 10":      `{"a": "10"}`,
	"s B":       `{"a": "B"}`,
	"s a":       `{"a": "a"}`,
	"s quotes":  `{"a": "it's \\ \"%_"}`,
	"t noon":    `{"a": "2024-06-01T12:00:00Z"}`,
	"t noon+2":  `{"a": "2024-06-01T12:00:00+02:00"}`,
	"t day":     `{"a": "2024-06-01"}`,
	"t micro":   `{"a": "2024-06-01 12:00:00.000001"}`,
	"no time":   `{"a": "2024-02-30T12:00:00Z"}`,
	"list":      `{"a": [1, {"b": 2}]}`,
	"object":    `{"a": {"b": {"c": 3}, "d": null}}`,
	"dotted":    `{"a.b": {"c": 4}, "a": {"b": {"c": 5}}}`,
	"dotted c":  `{"a.b.c": 6, "a": {"b": {"c": 7}}}`,
	"dotted no": `{"a.b.c": null, "a": {"b": {"c": 8}}}`,
}

func TestFilters(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for key, value := range filterItems {
		putItems(t, db, itemPut{prefix: "f", key: key, value: value})
	}
	all := func(except ...string) []string {
		var keys []string
		for key := range filterItems {
			keys = append(keys, key)
		}
		for _, key := range except {
			require.Contains(t, keys, key)
		}
		return column[string](t, db, `select key from langgraph.store where key <> all ($1) order by key`, except)
	}
	objects := []string{"dotted", "dotted c", "dotted no", "object"}
	for _, c := range []struct {
		filter string
		want   []string
	}{
		{`{}`, all([]string{}...)},
		{`null`, all([]string{}...)},

		// Equality is that of jsonb; what is missing equals null.
		{`{"a": 2}`, []string{"2"}},
		{`{"a": 2.00}`, []string{"2"}},
		{`{"a": 10}`, []string{"10"}},
		{`{"a": "10"}`, []string{"s 10"}},
		{`{"a": "it's \\ \"%_"}`, []string{"s quotes"}},
		{`{"a": true}`, []string{"true"}},
		{`{"a": null}`, []string{"absent", "null"}},
		{`{"a": [1, {"b": 2}]}`, []string{"list"}},
		{`{"a": [1]}`, []string{}},
		{`{"a": {"b": {"c": 3}, "d": null}}`, []string{"object"}},
		{`{"a": {"b": {"c": 3}}}`, []string{}},
		{`{"a": {}}`, []string{}},
		{`{"a": "2024-06-01T12:00:00+00:00"}`, []string{}},
		{`{"a": {"$eq": 2}}`, []string{"2"}},
		{`{"a": {"$eq": null}}`, []string{"absent", "null"}},
		{`{"a": {"$eq": {"b": {"c": 3}, "d": null}}}`, []string{"object"}},
		{`{"a": {"$eq": {"$gt": 1}}}`, []string{}},
		{`{"it's": 1}`, []string{}},

		// $ne is all that $eq is not.
		{`{"a": {"$ne": 2}}`, all("2")},
		{`{"a": {"$ne": null}}`, all("absent", "null")},
		{`{"a": {"$ne": "a"}}`, all("s a")},
		{`{"other": {"$ne": 1}}`, all([]string{}...)},

		// One of several, or none.
		{`{"a": {"$in": [2, 10, "a", "x", null]}}`, []string{"10", "2", "absent", "null", "s a"}},
		{`{"a": {"$in": []}}`, []string{}},
		{`{"a": {"$in": [[1, {"b": 2}], true]}}`, []string{"list", "true"}},
		{`{"a": {"$nin": [2, null]}}`, all("2", "absent", "null")},
		{`{"a": {"$nin": []}}`, all([]string{}...)},

		// Numbers with numbers.
		{`{"a": {"$gt": 2}}`, []string{"10", "huge"}},
		{`{"a": {"$gte": 2}}`, []string{"10", "2", "huge"}},
		{`{"a": {"$lt": 2}}`, []string{"-0.5"}},
		{`{"a": {"$lte": 2.0}}`, []string{"-0.5", "2"}},
		{`{"a": {"$gt": -1e3, "$lt": 10}}`, []string{"-0.5", "2"}},
		{`{"a": {"$gt": 3, "$lt": 3}}`, []string{}},

		// Strings with strings, by byte.
		{`{"a": {"$gte": "B", "$lt": "a"}}`, []string{"s B"}},
		{`{"a": {"$gte": "a"}}`, []string{"s a", "s quotes"}},
		{`{"a": {"$lt": "10"}}`, []string{"s empty"}},
		{`{"a": {"$gt": "it's"}}`, []string{"s quotes"}},

		// Times with times, whatever their offset; a day is its midnight, no offset is UTC.
		{`{"a": {"$gt": "2024-06-01T12:00:00Z"}}`, []string{"s B", "s a", "s quotes", "t micro"}},
		{`{"a": {"$gte": "2024-06-01T14:00:00+02:00"}}`, []string{"s B", "s a", "s quotes", "t micro", "t noon"}},
		{`{"a": {"$lt": "2024-06-01T12:00:00.000+02:00", "$gte": "2024-05-31T22:00:00-02:00"}}`, []string{"t day"}},
		{`{"a": {"$gte": "2024-06-01", "$lt": "2024-06-02"}}`, []string{"t day", "t micro", "t noon", "t noon+2"}},
		{`{"a": {"$lte": "2024-05-31T24:00:00Z"}}`, []string{"no time", "s 10", "s empty"}}, // no time itself

		// Kinds are never mixed, and never an error.
		{`{"a": {"$gt": false}}`, []string{"true"}},
		{`{"a": {"$gte": false, "$lte": true}}`, []string{"false", "true"}},
		{`{"a": {"$gt": null}}`, []string{}},
		{`{"a": {"$lte": null}}`, []string{}},
		{`{"a": {"$gt": []}}`, []string{}},
		{`{"a": {"$lt": {}}}`, []string{}},

		{`{"a": {"$exists": true}}`, all("absent")},
		{`{"a": {"$exists": false}}`, []string{"absent"}},
		{`{"a": {"$exists": true, "$eq": null}}`, []string{"null"}},
		{`{"a": {"$ne": 2, "$exists": true}, "a.b": {"$exists": true}}`, objects},

		// Paths: keys and positions; a key that is the whole path comes first, be it null.
		{`{"a.b.c": 3}`, []string{"object"}},
		{`{"a.b.c": 5}`, []string{"dotted"}},
		{`{"a.b.c": 6}`, []string{"dotted c"}},
		{`{"a.b.c": 7}`, []string{}},
		{`{"a.b.c": {"$gte": 3, "$lt": 6}}`, []string{"dotted", "object"}},
		{`{"a.b.c": {"$exists": true}}`, objects},
		{`{"a.b": {"c": 4}}`, []string{"dotted"}},
		{`{"a.b": {"c": 5}}`, []string{}},
		{`{"a.0": 1}`, []string{"list"}},
		{`{"a.1.b": {"$in": [2]}}`, []string{"list"}},
		{`{"a.-1.b": 2}`, []string{"list"}},
		{`{"a.d": {"$exists": true}}`, []string{"object"}},
		{`{"a.d": {"$ne": null}}`, []string{}},
		{`{"a.": {"$exists": true}}`, []string{}},

		// Several keys, all of which have to match.
		{`{"a": {"$gt": 1}, "b": {"$exists": false}}`, []string{"10", "2", "huge"}},
		{`{"a": 2, "b": 1}`, []string{}},
	} {
		t.Run(c.filter, func(t *testing.T) {
			t.Parallel()
			got := filtered(t, db, c.filter)
			if c.want == nil {
				c.want = []string{}
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestFiltersThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{prefix: "f", key: "k", value: `{"a": {"b": 1}}`})
	for filter, want := range map[string]refusal{
		`[1]`:                        {"LG002", "invalid filter", "not a JSON object: [1]", "Pass"},
		`"a"`:                        {"LG002", "invalid filter", "not a JSON object", "Pass"},
		`{"$and": [{"a": 1}]}`:       {"LG002", "invalid filter", "'$and' stands where a path", "there is no $and"},
		`{"$gt": 1}`:                 {"LG002", "invalid filter", "'$gt' stands where a path", "Operators stand under a path"},
		`{"a": {"$foo": 1}}`:         {"LG002", "invalid filter", "Unknown operator '$foo' under 'a'", "$exists"},
		`{"a": {"$or": [1, 2]}}`:     {"LG002", "invalid filter", "Unknown operator '$or'", "$exists"},
		`{"a": {"$gt": 1, "b": 2}}`:  {"LG002", "invalid filter", "Unknown operator 'b' under 'a'", "$exists"},
		`{"a": {"$": 1}}`:            {"LG002", "invalid filter", "Unknown operator '$'", "$exists"},
		`{"a": {"b": {"$gt": 1}}}`:   {"LG002", "invalid filter", "Under 'a' an operator stands inside a value", `{"a.b": {"$gt": 1}}`},
		`{"a": [{"b": {"$gt": 1}}]}`: {"LG002", "invalid filter", "inside a value", "with dots"},
		`{"a": {"$in": 1}}`:          {"LG002", "invalid filter", "operand of $in under 'a' is not an array: 1", `{"$in": [value, ...]}`},
		`{"a": {"$nin": {"b": 1}}}`:  {"LG002", "invalid filter", "operand of $nin under 'a' is not an array", `{"$nin": [value, ...]}`},
		`{"a": {"$exists": 1}}`:      {"LG002", "invalid filter", "operand of $exists under 'a' is not true or false: 1", "true"},
		`{"a": {"$exists": null}}`:   {"LG002", "invalid filter", "is not true or false: null", "true"},
	} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, `select * from langgraph.store_search('f', $1)`, filter))
		})
	}
}

// matches says for plain kinds of value what a comparison keeps: numbers with numbers, strings with strings, booleans with
// booleans.
func matches(operator string, value, operand any) bool {
	order, sameKind := 0, false
	switch v := value.(type) {
	case float64:
		if o, ok := operand.(float64); ok {
			sameKind = true
			order = compareOrdered(v, o)
		}
	case string:
		if o, ok := operand.(string); ok {
			sameKind = true
			order = compareOrdered(v, o)
		}
	case bool:
		if o, ok := operand.(bool); ok {
			sameKind = true
			rank := map[bool]int{true: 1}
			order = compareOrdered(rank[v], rank[o])
		}
	}
	equal := sameKind && order == 0 || value == nil && operand == nil
	switch operator {
	case "$eq":
		return equal
	case "$ne":
		return !equal
	case "$gt":
		return sameKind && order > 0
	case "$gte":
		return sameKind && order >= 0
	case "$lt":
		return sameKind && order < 0
	default:
		return sameKind && order <= 0
	}
}

func compareOrdered[T int | float64 | string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestRandomFiltersKeepWhatAModelKeeps(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	scalar := func() any {
		return pick[any](random, nil, true, false, float64(random.IntN(4)), float64(random.IntN(8))/2, -1.0,
			pick(random, "", "a", "b", "ab", "B", "1", "é", "'", `\`))
	}
	values := make([]map[string]any, 60)
	for i := range values {
		values[i] = map[string]any{}
		for _, key := range []string{"x", "y"} {
			if random.IntN(5) > 0 {
				values[i][key] = scalar()
			}
		}
		if random.IntN(3) > 0 {
			values[i]["n"] = map[string]any{"z": scalar()}
		}
		text, err := json.Marshal(values[i])
		require.NoError(t, err)
		putItems(t, db, itemPut{prefix: "f", key: fmt.Sprintf("%02d", i), value: string(text)})
	}
	at := func(v map[string]any, path string) any {
		if path != "n.z" {
			return v[path]
		}
		n, _ := v["n"].(map[string]any)
		return n["z"]
	}
	for range 300 {
		filter := map[string]any{}
		for range 1 + random.IntN(2) {
			condition := map[string]any{}
			for range 1 + random.IntN(2) {
				condition[pick(random, "$eq", "$ne", "$gt", "$gte", "$lt", "$lte")] = scalar()
			}
			filter[pick(random, "x", "y", "n.z", "none")] = condition
		}
		want := []string{}
		for i, v := range values {
			keep := true
			for path, condition := range filter {
				for operator, operand := range condition.(map[string]any) {
					keep = keep && matches(operator, at(v, path), operand)
				}
			}
			if keep {
				want = append(want, fmt.Sprintf("%02d", i))
			}
		}
		text, err := json.Marshal(filter)
		require.NoError(t, err)
		require.Equal(t, want, filtered(t, db, string(text)), string(text))
	}
}

func TestTimestampsAreReadAsISO8601(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for text, want := range map[string]string{
		"2024-02-29":                        "2024-02-29 00:00:00+00",
		"2024-06-01T12:30":                  "2024-06-01 12:30:00+00",
		"2024-06-01T12:30:15":               "2024-06-01 12:30:15+00",
		"2024-06-01 12:30:15.25":            "2024-06-01 12:30:15.25+00",
		"2024-06-01T12:30:15.123456+00:00":  "2024-06-01 12:30:15.123456+00",
		"2024-06-01T12:30:15.123Z":          "2024-06-01 12:30:15.123+00",
		"2024-06-01T12:30:15,5z":            "2024-06-01 12:30:15.5+00",
		"2024-06-01T12:30:15-05:30":         "2024-06-01 18:00:15+00",
		"2024-01-01T00:30:00+0100":          "2023-12-31 23:30:00+00",
		"2024-01-01T00:30:00+01":            "2023-12-31 23:30:00+00",
		"9999-12-31T23:59:59.999999-23:59":  "10000-01-01 23:58:59.999999+00",
		"0001-01-01T00:00:00+23:59":         "0001-12-31 00:01:00+00 BC",
		"2023-02-29":                        "",
		"2024-02-30":                        "",
		"2024-04-31":                        "",
		"1900-02-29":                        "",
		"0000-01-01":                        "",
		"2024-00-01":                        "",
		"2024-13-01":                        "",
		"2024-01-32":                        "",
		"2024-1-1":                          "",
		"2024-06-01T24:00:00":               "",
		"2024-06-01T12:60:00":               "",
		"2024-06-01T12:00:60":               "",
		"2024-06-01T12":                     "",
		"2024-06-01T12:00+24:00":            "",
		"2024-06-01T12:00:00 +00:00":        "",
		"2024-06-01T12:00:00Z and more":     "",
		" 2024-06-01":                       "",
		"2024-06-01\n":                      "",
		"20240601":                          "",
		"yesterday":                         "",
		"infinity":                          "",
		"":                                  "",
		"2024-06-01T12:30:15.1234567890123": "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			inTx(t, db, func(tx pgx.Tx) {
				exec(t, tx, "set local timezone = 'UTC'")
				require.Equal(t, want, value[string](t, tx, "select coalesce(langgraph.store_timestamp($1)::text, '')", text))
			})
		})
	}
}
