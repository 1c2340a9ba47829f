package store

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// TextAtPath returns the texts that a path selects in a JSON-like value, as LangGraph's get_text_at_path does: strings as
// they are, numbers and booleans as Python prints them (1.0, True), objects and lists as JSON with sorted keys; nulls and
// what is not there give no text.
//
//	"title", "meta.title"   a field, a field of a field
//	"list[0]", "list[-1]"   an element, counted from the end if negative
//	"list[*]", "meta.*"     every element, every field, each a text of its own; fields in the order of their names
//	"{title,meta.author}"   several fields at once; what follows the braces is ignored
//	"$", ""                 the whole value
//
// A path that nothing can match is no error; it gives no text. A value that JSON cannot express is ErrInvalidArgument.
func TextAtPath(value any, path string) ([]string, error) {
	plained, err := plain(value, maxNesting)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return textsAt(plained, path), nil
}

// TokenizePath splits a path as LangGraph's tokenize_path does: into names, "*", "[...]" and "{...}", with their brackets.
func TokenizePath(path string) []string {
	tokens := []string{}
	name := strings.Builder{}
	endName := func() {
		if name.Len() > 0 {
			tokens = append(tokens, name.String())
			name.Reset()
		}
	}
	for i := 0; i < len(path); {
		switch c := path[i]; c {
		case '[', '{':
			endName()
			n := bracketed(path[i:])
			tokens = append(tokens, path[i:i+n])
			i += n
			continue
		case '.':
			endName()
		default:
			name.WriteByte(c)
		}
		i++
	}
	endName()
	return tokens
}

// bracketed is the length of the text from its opening bracket to the one that closes it, or to the end.
func bracketed(text string) int {
	opening, closing := text[0], byte(']')
	if opening == '{' {
		closing = '}'
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case opening:
			depth++
		case closing:
			depth--
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

// textsAt is TextAtPath on a value of the types that plain makes.
func textsAt(value any, path string) []string {
	if path == "" || path == "$" {
		return []string{pythonJSON(value)}
	}
	return textsUnder(value, TokenizePath(path))
}

func textsUnder(value any, tokens []string) []string {
	if len(tokens) == 0 {
		return textOf(value)
	}
	token, rest := tokens[0], tokens[1:]
	switch {
	case enclosed(token, '[', ']'):
		return textsOfElements(value, token[1:len(token)-1], rest)
	case enclosed(token, '{', '}'):
		return textsOfFields(value, token[1:len(token)-1])
	case token == "*":
		return textsOfAll(value, rest)
	}
	object, _ := value.(map[string]any)
	if element, ok := object[token]; ok {
		return textsUnder(element, rest)
	}
	return nil
}

func enclosed(token string, opening, closing byte) bool {
	return len(token) > 1 && token[0] == opening && token[len(token)-1] == closing
}

func textsOfElements(value any, index string, rest []string) []string {
	list, ok := value.([]any)
	if !ok {
		return nil
	}
	if index == "*" {
		return textsOfAll(list, rest)
	}
	i, ok := pythonInt(index)
	if ok && i < 0 {
		i += len(list)
	}
	if !ok || i < 0 || i >= len(list) {
		return nil
	}
	return textsUnder(list[i], rest)
}

func textsOfAll(value any, rest []string) []string {
	var texts []string
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			texts = append(texts, textsUnder(element, rest)...)
		}
	case map[string]any:
		for _, name := range sortedNames(v) {
			texts = append(texts, textsUnder(v[name], rest)...)
		}
	}
	return texts
}

// textsOfFields looks up each of the paths between braces. Its tokens are names there, whatever they look like.
func textsOfFields(value any, fields string) []string {
	if _, ok := value.(map[string]any); !ok {
		return nil
	}
	var texts []string
	for field := range strings.SplitSeq(fields, ",") {
		names := TokenizePath(strings.TrimFunc(field, isPythonSpace))
		if len(names) == 0 {
			continue
		}
		found := value
		for _, name := range names {
			object, _ := found.(map[string]any)
			found = object[name]
		}
		texts = append(texts, textOf(found)...)
	}
	return texts
}

func textOf(value any) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case bool:
		if v {
			return []string{"True"}
		}
		return []string{"False"}
	default:
		return []string{pythonJSON(value)}
	}
}

var pythonInteger = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)

// pythonInt reads an index as Python's int does. One too large for an int is beyond any list.
func pythonInt(text string) (int, bool) {
	text = strings.TrimSpace(text)
	if !pythonInteger.MatchString(text) {
		return 0, false
	}
	i, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	return i, err == nil
}

// isPythonSpace is what str.strip removes. It is more than int ignores.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }

// pythonJSON is json.dumps(value, sort_keys=True, ensure_ascii=False).
func pythonJSON(value any) string {
	return string(appendPythonJSON(nil, value))
}

func appendPythonJSON(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return appendPythonString(dst, v)
	case json.Number:
		return append(dst, pythonNumber(v.String())...)
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			dst = appendPythonJSON(appendSeparator(dst, i), element)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range sortedNames(v) {
			dst = append(appendPythonString(appendSeparator(dst, i), name), ": "...)
			dst = appendPythonJSON(dst, v[name])
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("store: %T is none of the types that plain makes", value))
}

func appendSeparator(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ", "...)
}

func sortedNames(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var pythonEscapes = strings.NewReplacer(controlEscapes()...)

// controlEscapes are what has to be escaped in JSON and what it becomes, in turn.
func controlEscapes() []string {
	escapes := []string{`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`}
	for c := range byte(' ') {
		if !strings.ContainsRune("\n\r\t\f\b", rune(c)) {
			escapes = append(escapes, string(rune(c)), fmt.Sprintf(`\u%04x`, c))
		}
	}
	return escapes
}

func appendPythonString(dst []byte, text string) []byte {
	return append(append(append(dst, '"'), pythonEscapes.Replace(text)...), '"')
}

// pythonNumber is how Python prints a number that it has read from this JSON.
func pythonNumber(text string) string {
	if !isFloat(text) {
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return i.String()
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		// A float64 cannot hold it. Python would say inf, which is no use to an embedder.
		return text
	}
	return pythonFloat(f)
}

// pythonFloat is Python's repr of a float: the shortest digits that read back as the same float.
func pythonFloat(f float64) string {
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(scientific, "e")
	if e, _ := strconv.Atoi(exponent); f != 0 && (e < -4 || e >= 16) {
		return scientific
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !isFloat(text) {
		text += ".0"
	}
	return text
}
