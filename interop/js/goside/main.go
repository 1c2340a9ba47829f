// Command goside is the Go side of the tests in interop/js.
//
//	goside postgres            finds or starts a Postgres, prints {"url": ...}, and removes what it started when its input ends
//	goside begin URL THREAD    begins a conversation: a question, a tool call, the tool's answer
//	goside continue URL THREAD adds a message to the newest state, as a node of a graph would
//	goside read URL THREAD     prints the newest state as JSON: values, next nodes, interrupts, number of checkpoints
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
	"github.com/pgweft/pgweft/testcontainers"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("goside: ")
	// Whoever started this may be gone before Postgres is removed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == "postgres" {
		return servePostgres(ctx, os.Stdin, os.Stdout)
	}
	if len(args) != 3 {
		return errors.New("usage: goside postgres | goside begin|continue|read URL THREAD")
	}
	commands := map[string]func(context.Context, *pgsaver.Saver, string) error{
		"begin": begin, "continue": carryOn, "read": read,
	}
	command, known := commands[args[0]]
	if !known {
		return fmt.Errorf("there is no command %q", args[0])
	}
	pool, err := pgxpool.New(ctx, args[1])
	if err != nil {
		return err
	}
	defer pool.Close()
	return command(ctx, pgsaver.New(pool, nil), args[2])
}

func servePostgres(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	postgres, err := testcontainers.Run(ctx, testcontainers.WithoutFsync())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Close(context.WithoutCancel(ctx))) }()
	if err := json.NewEncoder(out).Encode(map[string]any{
		"backend": postgres.Backend().String(), "url": postgres.TCPConnString(), "version": postgres.ServerVersion(),
	}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

var reducers = map[string]checkpoint.Reducer{"messages": checkpoint.AddMessages}

func say(ctx context.Context, saver *pgsaver.Saver, thread, node string, next []string, said ...any) error {
	_, err := checkpoint.UpdateState(ctx, saver, checkpoint.Config{ThreadID: thread}, map[string]any{"messages": said},
		checkpoint.UpdateOptions{AsNode: node, Next: next, Reducers: reducers, Defaults: map[string]any{"messages": []any{}}})
	return err
}

func begin(ctx context.Context, saver *pgsaver.Saver, thread string) error {
	call := messages.ToolCall{ID: "call-1", Name: "search", Args: ordered.FromEntries([]ordered.Entry{
		{Key: "query", Value: "Wetter"}, {Key: "limit", Value: int64(3)},
	})}
	for _, step := range []struct {
		node string
		said []any
	}{
		{checkpoint.NodeStart, []any{messages.System("Be brief.", messages.WithID("m0")), messages.Human("How is the weather?", messages.WithID("m1"))}},
		{"agent", []any{messages.AI("", messages.WithID("m2"), messages.WithToolCalls(call),
			messages.WithUsage(messages.Usage{InputTokens: 11, OutputTokens: 7, TotalTokens: 18}))}},
		{"tools", []any{messages.Tool("sunny ☀", "call-1", messages.WithID("m3"), messages.WithName("search"))}},
	} {
		if err := say(ctx, saver, thread, step.node, nil, step.said...); err != nil {
			return err
		}
	}
	return nil
}

func carryOn(ctx context.Context, saver *pgsaver.Saver, thread string) error {
	return say(ctx, saver, thread, "agent", nil, messages.AI("from Go", messages.WithID("go-"+thread)))
}

func read(ctx context.Context, saver *pgsaver.Saver, thread string) error {
	state, err := checkpoint.GetState(ctx, saver, checkpoint.Config{ThreadID: thread})
	if err != nil {
		return err
	}
	count := 0
	for _, err := range saver.List(ctx, checkpoint.Config{ThreadID: thread}, checkpoint.ListOptions{}) {
		if err != nil {
			return err
		}
		count++
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"values": state.Values, "next": state.Next, "interrupts": state.Interrupts, "checkpoints": count,
	})
}
