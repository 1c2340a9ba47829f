package migrations

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// analyticsSuffix makes the name of the schema of views for people.
const analyticsSuffix = "_analytics"

// maxIdentifier is how many bytes of an identifier a stock Postgres keeps (NAMEDATALEN - 1).
const maxIdentifier = 63

var dollarTag = regexp.MustCompile(`\$([A-Za-z_\x80-\x{10FFFF}][A-Za-z0-9_\x80-\x{10FFFF}]*)?\$`)

// Render replaces the schema tokens of SQL text: @extschema@ by schema and @extschema@_analytics by schema with
// "_analytics" appended, both as quoted identifiers. It reads the text as Postgres does, so that the name stays one
// identifier wherever the token stands: in code, in function bodies, in comments, and in string literals, whose content
// is taken to be SQL of its own (dynamic SQL, regclass casts).
//
// It refuses schema names that Postgres refuses or that no quoting makes safe (see [New]), and text where a token cannot
// stand: within a quoted name, an escape literal (E'...', U&'...'), or glued to further identifier characters.
func Render(sql, schema string) (string, error) {
	if err := validateSchema(schema); err != nil {
		return "", err
	}
	r := renderer{main: quoteIdentifier(schema), analytics: quoteIdentifier(schema + analyticsSuffix)}
	return r.code(sql)
}

// renderLoosely is Render for fragments read back from the catalogs: prose may hold a quote that never closes.
func renderLoosely(text, schema string) (string, error) {
	r := renderer{main: quoteIdentifier(schema), analytics: quoteIdentifier(schema + analyticsSuffix), loose: true}
	return r.code(text)
}

type renderer struct {
	main, analytics string
	// loose accepts literals that do not end. The content of a literal is read loosely: it may be prose.
	loose bool
}

func (r renderer) code(text string) (string, error) {
	if !strings.Contains(text, sqltext.MainSchema) {
		return text, nil
	}
	var out strings.Builder
	for _, t := range sqltext.Tokens(text) {
		if t.Kind != sqltext.Schema && !strings.Contains(t.Text, sqltext.MainSchema) {
			out.WriteString(t.Text)
			continue
		}
		if !t.Closed && !r.loose {
			return "", fmt.Errorf("line %d: a literal, quoted name or comment begins here and never ends", sqltext.Line(text, t.Offset))
		}
		rendered, err := r.token(t, text[t.Offset+len(t.Text):])
		if err != nil {
			return "", fmt.Errorf("line %d: %w", sqltext.Line(text, t.Offset), err)
		}
		out.WriteString(rendered)
	}
	return out.String(), nil
}

func (r renderer) token(t sqltext.Token, rest string) (string, error) {
	switch t.Kind {
	case sqltext.Schema:
		if rest != "" && (rest[0] == '_' || rest[0] == '$' || rest[0] >= 0x80 || isAlphanumeric(rest[0])) {
			return "", fmt.Errorf("only %s and %s are replaced; nothing else may follow the token without a separator",
				sqltext.MainSchema, sqltext.AnalyticsSchema)
		}
		return r.names().Replace(t.Text), nil
	case sqltext.Dollar:
		body, err := r.code(t.Body())
		if err != nil {
			return "", err
		}
		return t.Tag() + body + strings.TrimPrefix(t.Text, t.Tag()+t.Body()), nil
	case sqltext.String:
		return r.literal(t)
	case sqltext.LineComment:
		return r.names().Replace(t.Text), nil
	case sqltext.BlockComment:
		return r.harmlessInComment().Replace(t.Text), nil
	case sqltext.QuotedIdent:
		return "", fmt.Errorf("%s stands within a quoted name; it is quoted by itself", sqltext.MainSchema)
	default:
		return "", fmt.Errorf("%s stands within an E'' or U&'' literal; write a plain literal", sqltext.MainSchema)
	}
}

// literal renders a string as the SQL it may contain, then quotes it again.
func (r renderer) literal(t sqltext.Token) (string, error) {
	open := strings.IndexByte(t.Text, '\'') + 1
	end := len(t.Text)
	if t.Closed {
		end--
	}
	inner := renderer{main: r.main, analytics: r.analytics, loose: true}
	content, err := inner.code(strings.ReplaceAll(t.Text[open:end], "''", "'"))
	if err != nil {
		return "", err
	}
	return t.Text[:open] + strings.ReplaceAll(content, "'", "''") + t.Text[end:], nil
}

func (r renderer) names() *strings.Replacer {
	return strings.NewReplacer(sqltext.AnalyticsSchema, r.analytics, sqltext.MainSchema, r.main)
}

func (r renderer) harmlessInComment() *strings.Replacer {
	harmless := func(name string) string { return strings.ReplaceAll(name, "*", "_") }
	return strings.NewReplacer(sqltext.AnalyticsSchema, harmless(r.analytics), sqltext.MainSchema, harmless(r.main))
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteLiteral(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// validateSchema refuses the names that [New] documents.
func validateSchema(name string) error {
	if problem := schemaProblem(name); problem != "" {
		return fmt.Errorf("schema name %q cannot be used: %s", name, problem)
	}
	return nil
}

func schemaProblem(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case !utf8.ValidString(name):
		return "it is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "it contains a control character"
	case len(name)+len(analyticsSuffix) > maxIdentifier:
		return fmt.Sprintf("it is %d bytes long; Postgres keeps %d bytes of a name, and %q is appended, so at most %d are possible",
			len(name), maxIdentifier, analyticsSuffix, maxIdentifier-len(analyticsSuffix))
	case strings.HasPrefix(name, "pg_"), name == "information_schema":
		return "Postgres reserves it for itself"
	case dollarTag.MatchString(name):
		return fmt.Sprintf("it contains %q, which would end a function body", dollarTag.FindString(name))
	case strings.Contains(name, "%"):
		return `it contains "%", which format() and RAISE in function bodies read as a placeholder`
	case strings.Contains(name, sqltext.MainSchema):
		return fmt.Sprintf("it contains %s, the token that stands for it", sqltext.MainSchema)
	}
	return ""
}
