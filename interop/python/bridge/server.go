package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
)

// greeting is the first line of the output: requests are answered from now on.
type greeting struct {
	Backend string `json:"backend"`
	// DatabaseURL names the database behind the saver, for clients that also want to look at its tables.
	DatabaseURL   string `json:"database_url"`
	ServerVersion int    `json:"server_version"`
}

// request is a line of the input.
type request struct {
	// ID is any number by which the client finds the answer again: requests run at once, answers come as they are ready.
	ID     int64           `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// response answers one request, with a result or an error.
type response struct {
	ID     int64    `json:"id"`
	Result any      `json:"result"`
	Error  *failure `json:"error,omitempty"`
}

// failure is an error whose kind the client can tell apart.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

var kinds = []struct {
	sentinel error
	kind     string
}{
	{checkpoint.ErrNotFound, "not_found"},
	{checkpoint.ErrInvalidArgument, "invalid_argument"},
	{checkpoint.ErrVersionCollision, "version_collision"},
	{checkpoint.ErrPinned, "pinned"},
	{checkpoint.ErrCorrupt, "corrupt"},
	{checkpoint.ErrNotEnabled, "not_enabled"},
	{pgsaver.ErrSchemaMissing, "schema"},
	{pgsaver.ErrSchemaOutdated, "schema"},
	{pgsaver.ErrSchemaNewer, "schema"},
}

func newFailure(err error) *failure {
	for _, k := range kinds {
		if errors.Is(err, k.sentinel) {
			return &failure{Kind: k.kind, Message: err.Error()}
		}
	}
	return &failure{Kind: "other", Message: err.Error()}
}

type server struct {
	saver *pgsaver.Saver

	mu  sync.Mutex
	out io.Writer
}

func newServer(saver *pgsaver.Saver, out io.Writer) *server { return &server{saver: saver, out: out} }

// serve answers requests until the input ends, and returns once all of them are answered. What cannot be answered, such as
// a line that is no request, ends it with an error.
func (s *server) serve(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	requests := make(chan *request)
	go func() {
		defer close(requests)
		if err := read(ctx, in, requests); err != nil {
			cancel(err)
		}
	}()

	var running sync.WaitGroup
	for open := true; open; {
		var req *request
		select {
		case req, open = <-requests:
		case <-ctx.Done():
			open = false
		}
		if open {
			running.Go(func() {
				if err := s.answer(ctx, req); err != nil {
					cancel(err)
				}
			})
		}
	}
	running.Wait()
	return context.Cause(ctx)
}

func read(ctx context.Context, in io.Reader, requests chan<- *request) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case err != nil:
			return fmt.Errorf("read a request: %w", err)
		}
		req := &request{}
		if err := decode(line, req); err != nil {
			return fmt.Errorf("a line is no request: %w", err)
		}
		select {
		case requests <- req:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *server) answer(ctx context.Context, req *request) error {
	result, err := s.call(ctx, req)
	if err != nil {
		return s.send(response{ID: req.ID, Error: newFailure(err)})
	}
	return s.send(response{ID: req.ID, Result: result})
}

func (s *server) call(ctx context.Context, req *request) (any, error) {
	method, known := methods[req.Method]
	if !known {
		return nil, fmt.Errorf("%w: there is no method %q", checkpoint.ErrInvalidArgument, req.Method)
	}
	return method(ctx, s.saver, req.Params)
}

// send writes one line.
func (s *server) send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	return nil
}

// decode reads one JSON value, whose fields all have to be known: a misspelt one would otherwise be a default.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
