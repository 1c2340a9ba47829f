// Package measuring has what the benchmark commands share: telling how far they are, describing the machine, percentiles.
package measuring

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// progressInterval is how often a stage says how far it is where nobody watches a terminal.
const progressInterval = 10 * time.Second

// Progress tells how far a run is: in one line of a terminal, in lines of a log otherwise.
type Progress struct {
	out      *os.File
	terminal bool
	began    time.Time
	said     time.Time
	name     string
}

// NewProgress tells on out.
func NewProgress(out *os.File) *Progress {
	return &Progress{out: out, terminal: term.IsTerminal(int(out.Fd())), began: time.Now()}
}

// Stage begins a stage.
func (p *Progress) Stage(format string, args ...any) {
	p.name = fmt.Sprintf(format, args...)
	p.say("")
}

// Step says how much of the stage is done, now and then.
func (p *Progress) Step(done, of int) {
	interval := progressInterval
	if p.terminal {
		interval = 100 * time.Millisecond
	}
	if time.Since(p.said) >= interval {
		p.say(fmt.Sprintf(" %d of %d", done, of))
	}
}

// Note says something that stays on the terminal.
func (p *Progress) Note(text string) {
	if p.terminal {
		_, _ = fmt.Fprint(p.out, "\r\033[K")
	}
	_, _ = fmt.Fprintln(p.out, text)
}

// Done says that the run is over.
func (p *Progress) Done() {
	p.Stage("done")
	if p.terminal {
		_, _ = fmt.Fprintln(p.out)
	}
}

func (p *Progress) say(suffix string) {
	p.said = time.Now()
	line := fmt.Sprintf("[%4.0fs] %s%s", time.Since(p.began).Seconds(), p.name, suffix)
	if p.terminal {
		_, _ = fmt.Fprintf(p.out, "\r\033[K%s", line)
		return
	}
	_, _ = fmt.Fprintln(p.out, line)
}
