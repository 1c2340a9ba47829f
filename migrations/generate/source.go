package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
	sources "github.com/pgweft/pgweft/sql"
)

// bodyTag is the one dollar-quote tag of function bodies.
const bodyTag = "$fn$"

// The kinds of object a source file may hold.
const (
	kindFunction  = "function"
	kindProcedure = "procedure"
	kindTrigger   = "trigger"
	kindType      = "type"
	kindView      = "view"
)

// source is a file of sql/ and what was read in it.
type source struct {
	sources.Object
	kind string
	// schema is the token of the schema the object is created in; for a trigger, of its table.
	schema string
	// table of a trigger.
	table string
	// needs are the objects that must exist before this one is created; mentions those that are better created before.
	needs, mentions map[string]bool
}

// id is how other files refer to the object.
func (s *source) id() string {
	if s.kind == kindTrigger {
		return s.schema + "." + s.table + " trigger " + s.Name
	}
	return s.schema + "." + s.Name
}

func (s *source) drop() string {
	if s.kind == kindTrigger {
		return fmt.Sprintf("drop trigger if exists %s on %s.%s;", s.Name, s.schema, s.table)
	}
	return fmt.Sprintf("drop %s if exists %s;", s.kind, s.id())
}

var (
	createObject = regexp.MustCompile(
		`(?i)^create\s+(or\s+replace\s+)?(function|procedure|view|type)\s+(@extschema@(?:_analytics)?)\s*\.\s*([a-z0-9_]+)`)
	createTrigger = regexp.MustCompile(
		`(?is)^create\s+or\s+replace\s+trigger\s+([a-z0-9_]+)\s.*?\bon\s+(@extschema@(?:_analytics)?)\s*\.\s*([a-z0-9_]+)`)
	commentOn        = regexp.MustCompile(`(?i)^comment\s+on\s`)
	revokeFromPublic = regexp.MustCompile(`(?is)^revoke\s+.*\sfrom\s+public\s*;$`)
	grant            = regexp.MustCompile(`(?i)^grant\s`)
	languageSQL      = regexp.MustCompile(`(?i)\blanguage\s+sql\b`)
	comparedName     = regexp.MustCompile(`[=,(]\s*'@extschema@(?:_analytics)?'\s*($|[^:\s])`)
)

// read checks one file against the rules of sql/ and finds what it creates and refers to.
func read(o sources.Object) (*source, error) {
	statements, err := sqltext.Split(o.Text)
	if err != nil {
		return nil, err
	}
	if len(statements) == 0 {
		return nil, fmt.Errorf("the file is empty")
	}
	s := &source{Object: o}
	if err := s.readCreate(statements[0].Text); err != nil {
		return nil, err
	}
	if err := checkOrder(s.kind, statements); err != nil {
		return nil, err
	}
	if err := s.checkBodies(); err != nil {
		return nil, err
	}
	s.readReferences(statements[0].Text)
	return s, nil
}

func (s *source) readCreate(statement string) error {
	var name string
	if m := createObject.FindStringSubmatch(statement); m != nil {
		s.kind, s.schema, name = strings.ToLower(m[2]), m[3], m[4]
		if m[1] == "" && s.kind != kindType {
			return fmt.Errorf("write \"create or replace %s\", so that the file can be run again", s.kind)
		}
	} else if m := createTrigger.FindStringSubmatch(statement); m != nil {
		s.kind, s.schema, s.table, name = kindTrigger, m[2], m[3], m[1]
	} else {
		return fmt.Errorf("the first statement must be \"create or replace function|procedure|view|trigger\" or \"create type\", " +
			"with the name qualified by @extschema@ or @extschema@_analytics")
	}
	if name != s.Name {
		return fmt.Errorf("the file creates %s %s; a file is named after its object, so it must be %s.sql", s.kind, name, name)
	}
	return nil
}

// checkOrder holds files to the order: header comment, create, comment on, revoke from public, grants.
func checkOrder(kind string, statements []sqltext.Statement) error {
	if !strings.HasPrefix(statements[0].Lead, "--") && !strings.HasPrefix(statements[0].Lead, "/*") {
		return fmt.Errorf("the file must begin with a comment: purpose, locks, errors")
	}
	stages := []struct {
		name     string
		matches  *regexp.Regexp
		required bool
	}{
		{"comment on", commentOn, true},
		{"revoke ... from public", revokeFromPublic, kind == kindFunction || kind == kindProcedure},
		{"grant", grant, false},
	}
	rest := statements[1:]
	for _, stage := range stages {
		count := 0
		for count < len(rest) && stage.matches.MatchString(rest[count].Text) {
			count++
		}
		if count == 0 && stage.required {
			return fmt.Errorf("a %q statement is missing, or not in its place (create, comment on, revoke, grant)", stage.name)
		}
		rest = rest[count:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("line %d: unexpected statement; the order is create, comment on, revoke from public, grant, and nothing else",
			rest[0].Line)
	}
	return nil
}

// checkBodies makes sure that a function's body is quoted with $fn$ and that the tag is used for nothing else.
func (s *source) checkBodies() error {
	bodies := 0
	for _, t := range sqltext.Tokens(s.Text) {
		if t.Kind == sqltext.Dollar {
			if t.Tag() != bodyTag {
				return fmt.Errorf("line %d: bodies are quoted with %s, not %s", sqltext.Line(s.Text, t.Offset), bodyTag, t.Tag())
			}
			bodies++
		}
	}
	want := 0
	if s.kind == kindFunction || s.kind == kindProcedure {
		want = 1
	}
	if bodies != want || strings.Count(s.Text, bodyTag) != 2*want {
		return fmt.Errorf("a %s has %d bodies between %s tags, and the tag stands nowhere else", s.kind, want, bodyTag)
	}
	if at := comparedName.FindStringIndex(s.Text); at != nil {
		return fmt.Errorf("line %d: '@extschema@' becomes a quoted identifier, not the bare name; compare oids: '@extschema@'::regnamespace",
			sqltext.Line(s.Text, at[0]))
	}
	return nil
}

var reference = regexp.MustCompile(`(@extschema@(?:_analytics)?)\s*\.\s*([a-z0-9_]+)`)

// readReferences finds what the create statement refers to. Postgres looks up at creation what a signature, a view or the
// body of an SQL function names; it reads a PL/pgSQL body only when the function runs.
func (s *source) readReferences(create string) {
	s.needs, s.mentions = map[string]bool{}, map[string]bool{}
	for _, t := range joined(create) {
		into := s.needs
		if t.body && !languageSQL.MatchString(create) {
			into = s.mentions
		}
		for _, m := range reference.FindAllStringSubmatch(t.text, -1) {
			if id := m[1] + "." + m[2]; id != s.id() {
				into[id] = true
			}
		}
	}
	for id := range s.needs {
		delete(s.mentions, id)
	}
}

type fragment struct {
	text string
	body bool
}

// joined gives the code of a statement and its body without comments.
func joined(statement string) []fragment {
	var outside strings.Builder
	var fragments []fragment
	for _, t := range sqltext.Tokens(statement) {
		switch {
		case t.Kind == sqltext.Dollar:
			fragments = append(fragments, fragment{text: withoutComments(t.Body()), body: true})
		case !t.Blank():
			outside.WriteString(t.Text)
		default:
			outside.WriteByte(' ')
		}
	}
	return append(fragments, fragment{text: outside.String()})
}

func withoutComments(code string) string {
	var out strings.Builder
	for _, t := range sqltext.Tokens(code) {
		if t.Kind == sqltext.LineComment || t.Kind == sqltext.BlockComment {
			out.WriteByte(' ')
			continue
		}
		out.WriteString(t.Text)
	}
	return out.String()
}

// readAll reads every file and reports all that is wrong at once.
func readAll(objects []sources.Object, tables []string) ([]*source, error) {
	var all []*source
	var problems []string
	for _, o := range objects {
		s, err := read(o)
		if err != nil {
			problems = append(problems, fmt.Sprintf("sql/%s: %v", o.Path, err))
			continue
		}
		all = append(all, s)
	}
	problems = append(problems, duplicates(all)...)
	for _, s := range all {
		for _, problem := range unqualified(s, all, tables) {
			problems = append(problems, fmt.Sprintf("sql/%s: %s", s.Path, problem))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return all, nil
}

func duplicates(all []*source) []string {
	paths := map[string]string{}
	var problems []string
	for _, s := range all {
		if other, twice := paths[s.id()]; twice {
			problems = append(problems, fmt.Sprintf("sql/%s: %s is also in sql/%s; there are no overloads", s.Path, s.id(), other))
		}
		paths[s.id()] = s.Path
	}
	return problems
}

// unqualified finds calls of our functions and uses of our tables without a schema: they would depend on search_path.
func unqualified(s *source, all []*source, tables []string) []string {
	functions := map[string]bool{}
	for _, other := range all {
		if other.kind == kindFunction || other.kind == kindProcedure {
			functions[other.Name] = true
		}
	}
	var problems []string
	for _, part := range codeParts(s.Text) {
		for i, word := range part.words {
			line := sqltext.Line(s.Text, part.offset+word.offset)
			switch {
			case word.qualified:
			case functions[word.text] && word.called:
				problems = append(problems, fmt.Sprintf("line %d: %s( is not qualified; write @extschema@.%s(", line, word.text, word.text))
			case part.afterTableKeyword(i) && slices.Contains(tables, word.text) && !part.ctes[word.text]:
				problems = append(problems, fmt.Sprintf("line %d: table %s is not qualified; write @extschema@.%s", line, word.text, word.text))
			}
		}
	}
	return problems
}

// tableKeywords stand directly before the name of a table.
var tableKeywords = []string{"from", "join", "into", "update"}

type codeWord struct {
	text string
	// offset in the part.
	offset int
	// start and end number the gaps between the tokens that are not blank, so that neighbours can be told.
	start, end int
	qualified  bool
	called     bool
}

type codePart struct {
	offset int
	words  []codeWord
	// ctes are names given by "with name as (" in this part.
	ctes map[string]bool
}

// afterTableKeyword tells "from checkpoints" from "is distinct from checkpoints".
func (p codePart) afterTableKeyword(i int) bool {
	if i == 0 || p.words[i-1].end != p.words[i].start || !slices.Contains(tableKeywords, p.words[i-1].text) {
		return false
	}
	return i == 1 || p.words[i-2].text != "distinct"
}

// codeParts gives the words of a file's code, outside literals and comments, and those of each body.
func codeParts(text string) []codePart {
	part := codePart{ctes: map[string]bool{}}
	var parts []codePart
	var solid []sqltext.Token
	for _, t := range sqltext.Tokens(text) {
		if t.Kind == sqltext.Dollar {
			inner := codeParts(t.Body())
			for i := range inner {
				inner[i].offset += t.Offset + len(t.Tag())
			}
			parts = append(parts, inner...)
		}
		if !t.Blank() {
			solid = append(solid, t)
		}
	}
	at := func(i int) string {
		if i < 0 || i >= len(solid) {
			return ""
		}
		return strings.ToLower(solid[i].Text)
	}
	for i, t := range solid {
		if t.Kind != sqltext.Word {
			continue
		}
		word := at(i)
		if at(i+1) == "as" && (at(i+2) == "(" || at(i+2) == "materialized" || at(i+2) == "not") {
			part.ctes[word] = true
		}
		part.words = append(part.words, codeWord{
			text: word, offset: t.Offset, start: i, end: i + 1,
			qualified: at(i-1) == ".", called: at(i+1) == "(",
		})
	}
	return append(parts, part)
}
