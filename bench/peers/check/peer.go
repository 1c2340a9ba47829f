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
)

// peer is a process that answers a line of JSON with a line of JSON.
type peer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

type request map[string]any

type answer struct {
	OK          bool
	Error       string
	Name        string
	Runtime     string
	Operations  []string
	Modes       []string
	Nanoseconds json.RawMessage // a number from fill, one for each operation from run
	Wall        int64
	CPU         int64
	Sample      string
}

func startPeer(ctx context.Context, program string) (*peer, error) {
	process := exec.CommandContext(ctx, program) //nolint:gosec // which program is what the command line is for
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &peer{process: process, in: in, out: bufio.NewReader(out)}, nil
}

// ask is an error where the peer is gone or does not speak the protocol; an answer that is not OK is none.
func (p *peer) ask(r request) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return answer{}, fmt.Errorf("the peer does not read: %w", err)
	}
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		return answer{}, fmt.Errorf("the peer ended without an answer to %q: %w", r["do"], err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return answer{}, fmt.Errorf("the peer answered %q: %w", text, err)
	}
	return a, nil
}

func (p *peer) quit() error {
	_, err := p.in.Write([]byte("{\"do\":\"quit\"}\n"))
	return errors.Join(err, p.in.Close(), p.process.Wait())
}

func (p *peer) kill() error {
	err := p.process.Process.Kill()
	// That it was killed is no news.
	_ = p.process.Wait()
	return err
}
