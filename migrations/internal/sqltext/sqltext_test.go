package sqltext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensTellCodeFromText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		sql  string
		kind Kind
		want string
	}{
		{"a plain string with a doubled quote", `select 'it''s'`, String, `'it''s'`},
		{"a backslash does not escape in a plain string", `select '\', 1`, String, `'\'`},
		{"a backslash escapes in an E string", `select E'\'', 1`, EscapeString, `E'\''`},
		{"a Unicode string", `select U&'\0061'`, EscapeString, `U&'\0061'`},
		{"a quoted name with a doubled quote", `select "a""b"`, QuotedIdent, `"a""b"`},
		{"a dollar body with another tag inside", `as $fn$ $x$ a $x$ $fn$;`, Dollar, `$fn$ $x$ a $x$ $fn$`},
		{"an empty dollar tag", `do $$ ; $$;`, Dollar, `$$ ; $$`},
		{"nested block comments", `/* a /* b */ c */ select`, BlockComment, `/* a /* b */ c */`},
		{"a line comment ends before its newline", "-- a;b\nselect", LineComment, "-- a;b"},
		{"a word may contain dollars", `select a$b$c`, Word, "select"},
		{"the main schema", `from @extschema@.t`, Schema, MainSchema},
		{"the analytics schema", `from @extschema@_analytics.v`, Schema, AnalyticsSchema},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var joined strings.Builder
			var found []string
			for _, token := range Tokens(test.sql) {
				joined.WriteString(token.Text)
				require.True(t, token.Closed)
				if token.Kind == test.kind {
					found = append(found, token.Text)
				}
			}
			require.Equal(t, test.sql, joined.String())
			require.NotEmpty(t, found)
			require.Equal(t, test.want, found[0])
		})
	}
}

func TestAPositionalParameterIsNoDollarQuote(t *testing.T) {
	t.Parallel()
	for _, token := range Tokens(`select $1, $2`) {
		require.NotEqual(t, Dollar, token.Kind)
	}
}

func TestSplitFindsEveryStatementAndItsLine(t *testing.T) {
	t.Parallel()
	statements, err := Split("-- head; not a statement\nselect ';';\n\n/* ; */ do $x$ begin; end $x$;\nselect \"a;b\" -- end;\n;\n")
	require.NoError(t, err)
	require.Equal(t, []Statement{
		{Text: "select ';';", Line: 2, Lead: "-- head; not a statement\n"},
		{Text: "do $x$ begin; end $x$;", Line: 4, Lead: "\n\n/* ; */ "},
		{Text: "select \"a;b\" -- end;\n;", Line: 5, Lead: "\n"},
	}, statements)
}

func TestSplitRefusesWhatItCannotSplit(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, sql, want string }{
		{"an open string", "select 1;\nselect 'a;", "line 2: a literal"},
		{"an open dollar body", "do $fn$ begin", "line 1: a literal"},
		{"an open comment", "/* a", "line 1: a literal"},
		{"a missing semicolon", "select 1;\nselect 2", "line 2: the last statement does not end in a semicolon"},
		{"an atomic body", "create function f() returns int\nbegin atomic select 1; end;", "line 2: BEGIN ATOMIC"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Split(test.sql)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func FuzzTokensLoseNothing(f *testing.F) {
	f.Add(`select 'a', E'\'', "x" /* c */ -- d
$fn$ b $fn$ @extschema@_analytics.v;`)
	f.Fuzz(func(t *testing.T, sql string) {
		var joined strings.Builder
		for _, token := range Tokens(sql) {
			require.NotEmpty(t, token.Text)
			joined.WriteString(token.Text)
		}
		require.Equal(t, sql, joined.String())
	})
}
