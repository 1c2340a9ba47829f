// Package sqltext reads SQL text just closely enough to tell code from comments, literals and quoted names, and to find
// where statements end. It knows Postgres's lexical rules with standard_conforming_strings on, and the @extschema@ token.
package sqltext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind says what a Token is.
type Kind int

// The kinds of token. Other is any single character that is none of the rest: operators, punctuation, digits.
const (
	Space Kind = iota
	LineComment
	BlockComment
	String       // '...', also with the prefixes B, N and X
	EscapeString // E'...' and U&'...', whose backslashes mean something
	QuotedIdent  // "..."
	Dollar       // $tag$...$tag$
	Word
	Schema // @extschema@ or @extschema@_analytics
	Semicolon
	Other
)

// The tokens that stand for the two schemas in our sources.
const (
	MainSchema      = "@extschema@"
	AnalyticsSchema = "@extschema@_analytics"
)

// Token is one lexical element. Concatenating the Text of all tokens gives the input back.
type Token struct {
	Kind Kind
	Text string
	// Offset is the byte position of Text in the input.
	Offset int
	// Closed is false for a literal, quoted name or block comment that the input ends in the middle of.
	Closed bool
}

// Blank reports whether the token is white space or a comment.
func (t Token) Blank() bool {
	return t.Kind == Space || t.Kind == LineComment || t.Kind == BlockComment
}

// Body is what stands between the tags of a Dollar token.
func (t Token) Body() string {
	n := t.tagLen()
	if !t.Closed {
		return t.Text[n:]
	}
	return t.Text[n : len(t.Text)-n]
}

// Tag is the opening tag of a Dollar token, such as "$fn$".
func (t Token) Tag() string { return t.Text[:t.tagLen()] }

func (t Token) tagLen() int { return strings.IndexByte(t.Text[1:], '$') + 2 }

// Tokens splits SQL text. It never fails: text that ends inside a literal gives a last token that is not Closed.
func Tokens(sql string) []Token {
	var tokens []Token
	for offset := 0; offset < len(sql); {
		t := next(sql[offset:])
		t.Offset = offset
		tokens = append(tokens, t)
		offset += len(t.Text)
	}
	return tokens
}

func next(s string) Token {
	switch c := s[0]; {
	case strings.HasPrefix(s, "--"):
		return lineComment(s)
	case strings.HasPrefix(s, "/*"):
		return blockComment(s)
	case strings.HasPrefix(s, MainSchema):
		return schemaToken(s)
	case isSpace(c):
		return Token{Kind: Space, Text: s[:span(s, isSpace)], Closed: true}
	case c == '\'':
		return quoted(s, 0, String, '\'', false)
	case c == '"':
		return quoted(s, 0, QuotedIdent, '"', false)
	case c == '$':
		return dollar(s)
	case c == ';':
		return Token{Kind: Semicolon, Text: ";", Closed: true}
	case isWordStart(c):
		return wordOrPrefixedString(s)
	default:
		_, size := utf8.DecodeRuneInString(s)
		return Token{Kind: Other, Text: s[:size], Closed: true}
	}
}

func schemaToken(s string) Token {
	if strings.HasPrefix(s, AnalyticsSchema) {
		return Token{Kind: Schema, Text: AnalyticsSchema, Closed: true}
	}
	return Token{Kind: Schema, Text: MainSchema, Closed: true}
}

func lineComment(s string) Token {
	if end := strings.IndexByte(s, '\n'); end >= 0 {
		s = s[:end]
	}
	return Token{Kind: LineComment, Text: s, Closed: true}
}

func blockComment(s string) Token {
	depth := 0
	for i := 0; i+1 < len(s); {
		switch s[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			depth--
			i += 2
			if depth == 0 {
				return Token{Kind: BlockComment, Text: s[:i], Closed: true}
			}
		default:
			i++
		}
	}
	return Token{Kind: BlockComment, Text: s}
}

// quoted reads a literal or quoted name whose opening quote stands at s[start]; a doubled quote is part of it.
func quoted(s string, start int, kind Kind, quote byte, backslash bool) Token {
	for i := start + 1; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return Token{Kind: kind, Text: s[:i+1], Closed: true}
		}
	}
	return Token{Kind: kind, Text: s}
}

func dollar(s string) Token {
	tag := 1
	if tag < len(s) && isWordStart(s[tag]) {
		tag += span(s[tag:], isTagPart)
	}
	if tag >= len(s) || s[tag] != '$' {
		return Token{Kind: Other, Text: "$", Closed: true}
	}
	tag++
	end := strings.Index(s[tag:], s[:tag])
	if end < 0 {
		return Token{Kind: Dollar, Text: s}
	}
	return Token{Kind: Dollar, Text: s[:tag+end+tag], Closed: true}
}

func wordOrPrefixedString(s string) Token {
	if len(s) > 1 && s[1] == '\'' {
		switch s[0] {
		case 'e', 'E':
			return quoted(s, 1, EscapeString, '\'', true)
		case 'b', 'B', 'n', 'N', 'x', 'X':
			return quoted(s, 1, String, '\'', false)
		}
	}
	if len(s) > 2 && (s[0] == 'u' || s[0] == 'U') && s[1] == '&' && (s[2] == '\'' || s[2] == '"') {
		return quoted(s, 2, EscapeString, s[2], false)
	}
	return Token{Kind: Word, Text: s[:span(s, isWordPart)], Closed: true}
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

func isWordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isTagPart(c byte) bool { return isWordStart(c) || c >= '0' && c <= '9' }

func isWordPart(c byte) bool { return isTagPart(c) || c == '$' }

// Statement is one statement of a script.
type Statement struct {
	// Text runs from the first token that is neither blank nor comment to the semicolon, which is included.
	Text string
	// Line is the line, from 1, on which Text begins.
	Line int
	// Lead is what stands before Text since the statement before: comments and white space.
	Lead string
}

// Split cuts a script into its statements at semicolons outside literals. It refuses what it cannot split safely:
// literals that do not end, a last statement without semicolon, and BEGIN ATOMIC bodies, whose semicolons are no ends.
func Split(script string) ([]Statement, error) {
	var statements []Statement
	leadFrom, from := 0, -1
	words := ""
	for _, t := range Tokens(script) {
		if !t.Closed {
			return nil, fmt.Errorf("line %d: a literal, quoted name or comment begins here and never ends", Line(script, t.Offset))
		}
		if t.Blank() {
			continue
		}
		if from < 0 {
			from = t.Offset
		}
		if t.Kind == Word {
			if words == "begin" && strings.EqualFold(t.Text, "atomic") {
				return nil, fmt.Errorf("line %d: BEGIN ATOMIC bodies are not supported; write the body as text between $fn$ tags",
					Line(script, t.Offset))
			}
			words = strings.ToLower(t.Text)
		}
		if t.Kind == Semicolon {
			end := t.Offset + 1
			statements = append(statements, Statement{
				Text: script[from:end], Line: Line(script, from), Lead: script[leadFrom:from],
			})
			leadFrom, from, words = end, -1, ""
		}
	}
	if from >= 0 {
		return nil, fmt.Errorf("line %d: the last statement does not end in a semicolon", Line(script, from))
	}
	return statements, nil
}

// Line is the line number, from 1, of a byte offset.
func Line(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
