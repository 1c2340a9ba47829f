package store

import (
	"strings"
	"unicode/utf8"
)

// labelFault says what is wrong with a label; empty is nothing.
func labelFault(label string) string {
	switch {
	case label == "":
		return "is empty"
	case strings.Contains(label, "."):
		return `contains ".", which separates labels`
	default:
		return textFault(label)
	}
}

func validateText(what, text string) error {
	if fault := textFault(text); fault != "" {
		return invalid("the %s %q %s", what, text, fault)
	}
	return nil
}

// textFault says why a database cannot keep the text.
func textFault(text string) string {
	switch {
	case strings.ContainsRune(text, 0):
		return "contains NUL, which Postgres cannot keep"
	case !utf8.ValidString(text):
		return "is not UTF-8"
	default:
		return ""
	}
}
