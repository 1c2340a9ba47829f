package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// progress writes log records as lines for people: the message, then the values, a duration in parentheses.
type progress struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *progress) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (p *progress) Handle(_ context.Context, record slog.Record) error {
	var line strings.Builder
	line.WriteString(record.Message)
	record.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindDuration {
			fmt.Fprintf(&line, " (%s)", a.Value.Duration().Round(time.Millisecond))
		} else {
			line.WriteString(" " + a.Value.String())
		}
		return true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintln(p.out, line.String())
	return err
}

// WithAttrs and WithGroup are part of slog.Handler; the migrator's records carry all they have to say.
func (p *progress) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p *progress) WithGroup(string) slog.Handler { return p }
