package storetest

import (
	"math"
	"math/big"
	"strings"
	"time"
)

// survivors are values that have to come back as they were put: what a float, a text column or a careless encoder would
// lose some of.
func survivors() map[string]any {
	beyond, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	return map[string]any{
		"nothing":                      nil,
		"true":                         true,
		"false":                        false,
		"zero":                         0,
		"a negative integer":           -1,
		"an integer above 2^53":        int64(1)<<53 + 1,
		"the largest integer":          int64(math.MaxInt64),
		"the smallest integer":         int64(math.MinInt64),
		"the largest unsigned integer": uint64(math.MaxUint64),
		"an integer of 97 bits":        beyond,
		"a whole float":                1.0,
		"a large whole float":          1e22,
		"a float of many digits":       0.1 + 0.2,
		"the largest float":            math.MaxFloat64,
		"the smallest float":           math.SmallestNonzeroFloat64,
		"a float of 32 bits":           float32(0.1),
		"empty text":                   "",
		"text in many scripts":         "Žluťoučký kůň, 線と糸, شبكة, 🧶👩‍🔬\u2028\ufeff",
		"text that looks escaped":      `\u0000 "quoted" \\ 'it''s' $1 %s {"a": 1} </script>`,
		"text of lines":                "a\nb\r\nc\td\x01\x7f",
		"text of one megabyte":         strings.Repeat("wefts & warps. ", 1<<20/15),
		"an empty list":                []any{},
		"an empty object":              map[string]any{},
		"a list of everything":         []any{nil, true, 1, 1.0, "", []any{}, map[string]any{}},
		"a list of texts":              []string{"a", "b"},
		"an object of unusual names":   map[string]any{"": 1, " ": 2, `"`: 3, "クモ": 4, "a.b": 5, "$gt": 6, `\`: 7},
		"objects sixty levels deep":    nested(60),
		"a time":                       time.Date(2026, 4, 7, 10, 0, 0, 123456000, time.UTC),
		"a struct":                     struct{ Name string }{"warp"},
	}
}

func nested(levels int) any {
	var value any = "core"
	for range levels {
		value = map[string]any{"in": value}
	}
	return value
}

// identifiers are texts that are awkward somewhere: in SQL, in LIKE or regular expressions, in JSON, in an index.
func identifiers() map[string]string {
	return map[string]string{
		"single quotes":      `it's`,
		"double quotes":      `"quoted"`,
		"percent":            "100%",
		"underscore":         "a_b",
		"backslash":          `a\b\`,
		"SQL":                `x'); drop table store; -- $1 /* */`,
		"regular expression": `^[a-z]+(x|y)?$`,
		"separators":         "a|b:c,d/e",
		"spaces":             "  \t\n ",
		"many scripts":       "線と糸 Žluť 🧶",
		"combining marks":    "e\u0301 is not \u00e9",
		"200 characters":     strings.Repeat("0123456789", 20),
		"an array":           `{a,"b"}`,
		"null":               "NULL",
	}
}

// badTexts cannot be kept in a database; badLabels cannot be labels either.
func badTexts() map[string]string {
	return map[string]string{"NUL": "a\x00b", "broken UTF-8": "a\xff"}
}

func badLabels() map[string]string {
	labels := badTexts()
	labels["an empty label"] = ""
	labels["a dot"] = "a.b"
	labels["only a dot"] = "."
	return labels
}
