package migrations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

func TestRenderQuotesTheNameForWhereItStands(t *testing.T) {
	t.Parallel()
	const odd = `o'd"d*/`
	tests := []struct{ name, sql, want string }{
		{"in code", `from @extschema@.t`, `from "o'd""d*/".t`},
		{"the analytics schema", `from @extschema@_analytics.v`, `from "o'd""d*/_analytics".v`},
		{"in a function body", `as $fn$ from @extschema@.t $fn$;`, `as $fn$ from "o'd""d*/".t $fn$;`},
		{"in a literal", `'@extschema@.t'::regclass`, `'"o''d""d*/".t'::regclass`},
		{"in a literal within a body", `$fn$ execute 'from @extschema@.t' $fn$`, `$fn$ execute 'from "o''d""d*/".t' $fn$`},
		{"in a literal within dynamic SQL", `execute 'select ''@extschema@.t'''`, `execute 'select ''"o''''d""d*/".t'''`},
		{"in a line comment", "-- @extschema@\nselect", "-- \"o'd\"\"d*/\"\nselect"},
		{"in a block comment, which it must not end", `/* @extschema@ */`, `/* "o'd""d_/" */`},
		{"in prose with an apostrophe", `is 'Don''t use @extschema@.t'`, `is 'Don''t use "o''''d""d*/".t'`},
		{"text without the token stays as it is", `'it''s' $x$ ' $x$`, `'it''s' $x$ ' $x$`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := migrations.Render(test.sql, odd)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestRenderRefusesTokensWhereNoNameCanStand(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, sql, want string }{
		{"within a quoted name", "select\n\"@extschema@_x\"", "line 2: @extschema@ stands within a quoted name"},
		{"within an escape literal", `E'\n@extschema@'`, "write a plain literal"},
		{"glued to another suffix", `@extschema@_reader`, "only @extschema@ and @extschema@_analytics are replaced"},
		{"glued to a longer suffix", `@extschema@_analytics2.v`, "only @extschema@ and @extschema@_analytics are replaced"},
		{"in a literal that never ends", `select '@extschema@`, "never ends"},
		{"in a body that never ends", `$fn$ @extschema@`, "never ends"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := migrations.Render(test.sql, "langgraph")
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestSchemaNamesThatCannotBeMadeSafeAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"empty", "", "it is empty"},
		{"a NUL", "a\x00b", "control character"},
		{"a newline, which would end a comment", "a\nb", "control character"},
		{"broken UTF-8", "a\xff", "not valid UTF-8"},
		{"too long for its companion", strings.Repeat("a", 54), "at most 53 are possible"},
		{"too long in bytes though not in characters", strings.Repeat("é", 27), "it is 54 bytes long"},
		{"reserved prefix", "pg_agents", "Postgres reserves it"},
		{"information_schema", "information_schema", "Postgres reserves it"},
		{"a dollar quote", "a$fn$b", `it contains "$fn$"`},
		{"an empty dollar quote", "a$$b", `it contains "$$"`},
		{"a dollar quote beyond ASCII", "a$é$b", `it contains "$é$"`},
		{"a format placeholder", "100%", "placeholder"},
		{"the token itself", "@extschema@", "the token that stands for it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := migrations.Render("select 1", test.schema)
			require.ErrorContains(t, err, test.want)
		})
	}
	for _, schema := range []string{"public", oddSchema, strings.Repeat("a", 53), "Großer Name", `back\slash`, "a$1$b", "select"} {
		_, err := migrations.Render("select 1", schema)
		require.NoError(t, err, schema)
	}
}
