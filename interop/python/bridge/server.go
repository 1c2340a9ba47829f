package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/store"
)

// greeting is the first line of the output: requests are answered from now on.
type greeting struct {
	Backend string `json:"backend"`
	// DatabaseURL names the database behind the saver, for clients that also use its tables.
	DatabaseURL   string `json:"database_url"`
	ServerVersion int    `json:"server_version"`
}

// request is a line of the input.
type request struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// response is a line of the output: the result of a request or an error, in the order of the requests.
type response struct {
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
	{store.ErrInvalidArgument, "invalid_argument"},
	{store.ErrNotEnabled, "not_enabled"},
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

// server answers one request after the other. LangGraph's runtime begins to save something before it knows that what came
// before is saved, and counts on a saver to keep the order: a later answer to an interrupt replaces an earlier one.
type server struct {
	saver *pgsaver.Saver
	out   io.Writer
}

// serve answers requests until the input ends. What cannot be answered, such as a line that is no request, is an error.
func (s *server) serve(ctx context.Context, in io.Reader) error {
	lines, failed := readLines(ctx, in)
	for {
		select {
		case line, open := <-lines:
			if !open {
				return <-failed
			}
			if err := s.answer(ctx, line); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readLines reads in the background, because a read cannot be cancelled. Once the lines are closed it says why.
func readLines(ctx context.Context, in io.Reader) (<-chan []byte, <-chan error) {
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(in)
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				if errors.Is(err, io.EOF) && len(line) == 0 {
					err = nil
				}
				failed <- err
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines, failed
}

func (s *server) answer(ctx context.Context, line []byte) error {
	req := &request{}
	if err := decode(line, req); err != nil {
		return fmt.Errorf("a line is no request: %w", err)
	}
	result, err := s.call(ctx, req)
	if err != nil {
		return s.send(response{Error: newFailure(err)})
	}
	return s.send(response{Result: result})
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
