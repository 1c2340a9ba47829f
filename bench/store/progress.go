package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// progressInterval is how often a stage says how far it is where nobody watches a terminal.
const progressInterval = 10 * time.Second

// progress tells how far the run is: in one line of a terminal, in lines of a log otherwise.
type progress struct {
	out      *os.File
	terminal bool
	began    time.Time
	said     time.Time
	name     string
}

func newProgress(out *os.File) *progress {
	return &progress{out: out, terminal: term.IsTerminal(int(out.Fd())), began: time.Now()}
}

func (p *progress) stage(format string, args ...any) {
	p.name = fmt.Sprintf(format, args...)
	p.say("")
}

// step says how much of the stage is done, now and then.
func (p *progress) step(done, of int) {
	interval := progressInterval
	if p.terminal {
		interval = 100 * time.Millisecond
	}
	if time.Since(p.said) >= interval {
		p.say(fmt.Sprintf(" %d of %d", done, of))
	}
}

// note says something that stays on the terminal.
func (p *progress) note(text string) {
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K")
	}
	fmt.Fprintln(p.out, text)
}

func (p *progress) say(suffix string) {
	p.said = time.Now()
	line := fmt.Sprintf("[%4.0fs] %s%s", time.Since(p.began).Seconds(), p.name, suffix)
	if p.terminal {
		fmt.Fprintf(p.out, "\r\033[K%s", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) done() {
	p.stage("done")
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
