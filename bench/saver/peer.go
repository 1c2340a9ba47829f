package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// peerKind is a process with another saver in it, and the ways to run it. A mode that is not the first is measured in the
// cases that say so only.
type peerKind struct {
	name  string
	modes []string
	// variable is the environment variable that names its program; where it is empty the program is the run.sh in the
	// directory of that name.
	variable string
}

var peerKinds = []peerKind{
	{name: "python", modes: []string{"sync", "async", "pipeline"}},
	{name: "js", modes: []string{"async"}},
	{name: "go-port", modes: []string{"pool"}, variable: "PGWEFT_BENCH_GO_PEER"},
}

// errNotGiven is why a peer is left out that this repository does not have.
var errNotGiven = errors.New("no program was given")

// program is the path of what is started.
func (k peerKind) program(directory string) (string, error) {
	if k.variable == "" {
		return filepath.Abs(filepath.Join(directory, k.name, "run.sh"))
	}
	given := os.Getenv(k.variable)
	if given == "" {
		return "", fmt.Errorf("%w: this repository has none, and %s names none (see bench/peers/README.md)", errNotGiven, k.variable)
	}
	return filepath.Abs(given)
}

// side is the name of the side that runs in a mode.
func (k peerKind) side(mode string) string {
	if len(k.modes) == 1 {
		return k.name
	}
	return k.name + "-" + mode
}

// How long peers have: for what they install before the first answer, and for any other answer.
const (
	helloTimeout  = 10 * time.Minute
	answerTimeout = 5 * time.Minute
)

// peer is a process that speaks the peers' protocol: a JSON object a line, in turns.
type peer struct {
	kind    peerKind
	command *exec.Cmd
	in      io.WriteCloser
	answers chan []byte // closed when the process says no more
	stderr  tail
	cancel  context.CancelFunc
	said    answer // to hello
	filled  map[string]bool
}

// request is a line to a peer.
type request struct {
	Do       string `json:"do"`
	Database string `json:"database,omitempty"`
	Payloads string `json:"payloads,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Count    int    `json:"count,omitempty"`
	operation
}

// answer is a line from a peer.
type answer struct {
	OK          bool              `json:"ok"`
	Error       string            `json:"error"`
	Name        string            `json:"name"`
	Note        string            `json:"note"`
	Runtime     string            `json:"runtime"`
	Versions    map[string]string `json:"versions"`
	Operations  []string          `json:"operations"`
	Nanoseconds json.RawMessage   `json:"nanoseconds"` // a list after run, a number after fill
	CPU         int64             `json:"cpu"`
	Sample      json.RawMessage   `json:"sample"`
}

// startPeer starts the process and greets it. The process lives until close, or until ctx ends.
func startPeer(ctx context.Context, kind peerKind, program, databaseURL, payloadsPath string) (*peer, error) {
	living, cancel := context.WithCancel(ctx)
	p := &peer{
		kind: kind, command: exec.CommandContext(living, program), answers: make(chan []byte),
		cancel: cancel, filled: map[string]bool{},
	}
	p.command.Dir = filepath.Dir(program)
	p.command.Stderr = &p.stderr
	p.command.WaitDelay = 5 * time.Second
	err := p.start()
	if err != nil {
		cancel()
		return nil, err
	}
	p.said, err = p.ask(ctx, request{Do: "hello", Database: databaseURL, Payloads: payloadsPath}, helloTimeout)
	if err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return p, nil
}

func (p *peer) start() (err error) {
	if p.in, err = p.command.StdinPipe(); err != nil {
		return err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			p.answers <- slices.Clone(lines.Bytes())
		}
	}()
	return nil
}

// ask sends a request and waits for its answer. An answer that is not "ok" is an error.
func (p *peer) ask(ctx context.Context, r request, timeout time.Duration) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return answer{}, fmt.Errorf("%s: %w%s", r.Do, err, p.stderr.said())
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var reply []byte
	select {
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-timer.C:
		p.cancel() // what it answers later would be taken for the answer to something else
		return answer{}, fmt.Errorf("%s: no answer within %s%s", r.Do, timeout, p.stderr.said())
	case said, ok := <-p.answers:
		if !ok {
			return answer{}, fmt.Errorf("%s: the process ended without an answer%s", r.Do, p.stderr.said())
		}
		reply = said
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return answer{}, fmt.Errorf("%s: the answer %.200q is not JSON: %w", r.Do, reply, err)
	}
	if !a.OK {
		return answer{}, fmt.Errorf("%s: %s", r.Do, a.Error)
	}
	return a, nil
}

// fill has the peer make threads by its own saver.
func (p *peer) fill(ctx context.Context, threads []thread) error {
	for _, t := range threads {
		_, err := p.ask(ctx, request{Do: "fill", operation: operation{Thread: t.name, Checkpoints: t.checkpoints, Payload: t.payload}}, answerTimeout)
		if err != nil {
			return err
		}
		p.filled[t.name] = true
	}
	return nil
}

// close ends the process, gently at first.
func (p *peer) close(ctx context.Context) error {
	defer p.cancel()
	_, _ = io.WriteString(p.in, `{"do":"quit"}`+"\n") // it may be gone already
	_ = p.in.Close()
	timer := time.AfterFunc(5*time.Second, p.cancel)
	defer timer.Stop()
	for range p.answers { // so that the process can say what it wants to
	}
	err := p.command.Wait()
	if ctx.Err() != nil {
		return nil // it was killed for that
	}
	if err != nil {
		return fmt.Errorf("%s ended badly: %w%s", p.kind.name, err, p.stderr.said())
	}
	return nil
}

// tail keeps the end of what a process writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(text []byte) (int, error) {
	const kept = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if len(t.text) > kept {
		t.text = slices.Clone(t.text[len(t.text)-kept:])
	}
	return len(text), nil
}

func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "; it said: " + strings.TrimSpace(string(t.text))
}

// peerSide is a peer in one of its modes.
type peerSide struct {
	*peer
	mode    string
	watched *server
}

func (s *peerSide) name() string    { return s.kind.side(s.mode) }
func (s *peerSide) server() *server { return s.watched }

func (s *peerSide) about() about {
	title := s.said.Name
	if len(s.kind.modes) > 1 {
		title += ", " + s.mode
	}
	if s.said.Note != "" {
		title += ": " + s.said.Note
	}
	return about{Side: s.name(), Title: title, Runtime: s.said.Runtime, Versions: s.said.Versions}
}

func (s *peerSide) supports(op operation) bool {
	if op.Payload == smallBlobs || !slices.Contains(s.said.Operations, op.Name) {
		return false
	}
	return isStore(op) || op.Thread == "" || s.filled[op.Thread]
}

func (s *peerSide) ready(context.Context, operation, int) error { return nil }

func (s *peerSide) run(ctx context.Context, op operation, count int) (outcome, error) {
	a, err := s.ask(ctx, request{Do: "run", Mode: s.mode, Count: count, operation: op}, answerTimeout)
	if err != nil {
		return outcome{}, err
	}
	var nanoseconds []int64
	if err := json.Unmarshal(a.Nanoseconds, &nanoseconds); err != nil {
		return outcome{}, fmt.Errorf("run: the latencies: %w", err)
	}
	if len(nanoseconds) != count {
		return outcome{}, fmt.Errorf("run: %d latencies for %d operations", len(nanoseconds), count)
	}
	done := outcome{clientCPU: time.Duration(a.CPU), sample: sampleText(a.Sample)}
	for _, n := range nanoseconds {
		done.latencies = append(done.latencies, time.Duration(n))
	}
	return done, nil
}

// sampleText is a sample whether or not it is a string.
func sampleText(sample json.RawMessage) string {
	var text string
	if json.Unmarshal(sample, &text) == nil {
		return text
	}
	return string(sample)
}

// close is left to whoever started the peer, which other modes may share.
func (s *peerSide) close(context.Context) error { return nil }
