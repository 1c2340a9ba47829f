package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Characters of ambiguous width, such as the arrow at the latest checkpoint, are narrow in today's terminals, whatever the
// locale; with the locale's rule the same table would differ between machines.
func init() { text.OverrideRuneWidthEastAsianWidth(false) }

// writeJSON writes the one document of a command.
func (o *options) writeJSON(v any) error {
	encoder := json.NewEncoder(o.env.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

func (o *options) printf(format string, args ...any) { fmt.Fprintf(o.env.Stdout, format, args...) }

func (o *options) note(format string, args ...any) { fmt.Fprintf(o.env.Stderr, format+"\n", args...) }

// newTable is a table without lines between its columns, so that a cell can be copied and a tree drawn in it. The columns
// named in numbers are aligned to the right.
func newTable(out io.Writer, header table.Row, numbers ...string) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(out)
	style := table.StyleLight
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Options = table.Options{SeparateHeader: true, SeparateFooter: true}
	style.Format.Footer = text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	columns := make([]table.ColumnConfig, len(numbers))
	for i, name := range numbers {
		columns[i] = table.ColumnConfig{Name: name, Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight}
	}
	t.SetColumnConfigs(columns)
	return t
}

// The colours of a terminal, by their codes.
const (
	red   = "31"
	green = "32"
	bold  = "1"
	faint = "2"
)

// colour is for terminals only, and not where NO_COLOR is set (no-color.org).
func (o *options) colour(code, s string) string {
	if s == "" || o.env.Columns() == 0 || o.env.Getenv("NO_COLOR") != "" || o.env.Getenv("TERM") == "dumb" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// exactly is a time to the second, in the user's zone.
func (o *options) exactly(t time.Time) string {
	return t.In(o.env.now().Location()).Format("2006-01-02 15:04:05")
}

// ago is a time as a distance from now.
func (o *options) ago(t time.Time) string {
	return humanize.RelTime(t, o.env.now(), "ago", "from now")
}

func size(bytes int64) string { return humanize.Bytes(uint64(max(bytes, 0))) }

func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return humanize.Comma(n) + " " + thing
}

// printable makes what agents saved safe to show: control characters, which a terminal would obey, and those that turn the
// direction of text become escapes. Line breaks and tabs stay.
func printable(s string) string {
	return escaped(s, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control)
	})
}

// cell is printable for one line.
func cell(s string) string {
	return escaped(s, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) })
}

func escaped(s string, unwanted func(rune) bool) string {
	if strings.IndexFunc(s, unwanted) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unwanted(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// orDash is an optional text in a cell.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return cell(*s)
}

// inUTC makes JSON times independent of where the command runs.
func inUTC(times ...*time.Time) {
	for _, t := range times {
		*t = t.UTC()
	}
}
