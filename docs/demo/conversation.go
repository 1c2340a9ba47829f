package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// topics are what customers ask, and the tool that knows.
var topics = []struct{ question, tool, found string }{
	{"Does my plan cover a stay in hospital abroad?", "search_policies", "Section 4.2: stays in hospital in any country, up to 90 days a year. "},
	{"What would a plan for two children cost?", "search_products", "Family plan F-201, 39.90 a month for two adults, 9.90 for each child. "},
	{"I was charged twice in March, I want my money back.", "list_payments", "2026-03-01: 39.90 received. 2026-03-01: 39.90 received again. "},
	{"How do I send in the bill of my dentist?", "search_policies", "Section 7.1: bills are sent in within three years, as a picture or on paper. "},
}

// speaker makes the messages of one conversation.
type speaker struct {
	random *rand.Rand
	thread string
	model  string
	count  int
}

func (s *speaker) id() messages.Option {
	s.count++
	return messages.WithID(fmt.Sprintf("%s-m%d", s.thread, s.count))
}

func (s *speaker) answer(text string, calls ...messages.ToolCall) any {
	input, output := int64(400+180*s.count+s.random.IntN(200)), int64(20+len(text)/4)
	return messages.AI(text, s.id(), messages.WithToolCalls(calls...),
		messages.WithUsage(messages.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}),
		messages.WithResponseMetadata(ordered.New().Set("model_name", s.model)))
}

// between is a time from one to another number of milliseconds, most often short.
func (s *speaker) between(least, most int) time.Duration {
	x := s.random.Float64()
	return time.Duration(float64(least)+x*x*float64(most-least)) * time.Millisecond
}

// converse saves one conversation.
func converse(ctx context.Context, saver *pgsaver.Saver, clock *clock, number int) error {
	random := rand.New(rand.NewPCG(2026, uint64(number))) //nolint:gosec // made-up data, the same every time
	id := fmt.Sprintf("support-%04d", number+1)
	// Business grows: the later the day, the more of the conversations.
	day := int(28 * max(random.Float64(), random.Float64()))
	at := firstDay.AddDate(0, 0, day).Add(8*time.Hour + time.Duration(random.IntN(10*3600))*time.Second)
	s := &speaker{random: random, thread: id, model: "gpt-5-mini"}
	if day >= 14 && random.IntN(3) > 0 {
		s.model = "claude-sonnet-5"
	}
	t := newThread(saver, clock, id, at)
	for range 1 + random.IntN(4) {
		done, err := turn(ctx, t, s)
		if err != nil || !done {
			return err
		}
		t.now = t.now.Add(s.between(20_000, 300_000))
	}
	return nil
}

// turn is a question and its answer. It says whether the conversation can go on.
func turn(ctx context.Context, t *thread, s *speaker) (bool, error) {
	topic := topics[s.random.IntN(len(topics))]
	if err := t.input(ctx, messages.Human(topic.question, s.id())); err != nil {
		return false, err
	}
	asked := t.config
	call := messages.ToolCall{ID: fmt.Sprintf("call-%d", s.count), Name: topic.tool, Args: ordered.New().Set("query", topic.question)}
	if err := t.superstep(ctx, s.between(600, 4000), []any{s.answer("", call)}, "tools"); err != nil {
		return false, err
	}
	if s.random.IntN(40) == 0 {
		failure := fmt.Sprintf("TimeoutError('%s did not answer within 30 s')", topic.tool)
		return false, t.write(ctx, 30*time.Second, checkpoint.Write{Channel: checkpoint.ChannelError, Value: failure})
	}
	found := messages.Tool(strings.Repeat(topic.found, 3+s.random.IntN(8)), call.ID, s.id(), messages.WithName(topic.tool))
	next := "model"
	if topic.tool == "list_payments" {
		next = "approve"
	}
	if err := t.superstep(ctx, s.between(80, 2500), []any{found}, next); err != nil {
		return false, err
	}
	if next == "approve" {
		if done, err := approve(ctx, t, s); err != nil || !done {
			return false, err
		}
	}
	reply := "Thank you for your patience. " + topic.found
	if err := t.superstep(ctx, s.between(900, 6000), []any{s.answer(reply)}, ""); err != nil {
		return false, err
	}
	if s.random.IntN(12) == 0 {
		return true, again(ctx, t, s, asked, topic.found)
	}
	return true, nil
}

// approve asks a human; of four questions one is not answered yet.
func approve(ctx context.Context, t *thread, s *speaker) (bool, error) {
	question := ordered.New().Set("action", "refund").Set("amount", 39.9+float64(10*s.random.IntN(20)))
	asks := []any{serde.Interrupt{Value: question, ID: fmt.Sprintf("%s-q%d", s.thread, s.count)}}
	if err := t.write(ctx, 20*time.Millisecond, checkpoint.Write{Channel: checkpoint.ChannelInterrupt, Value: asks}); err != nil {
		return false, err
	}
	if s.random.IntN(4) == 0 {
		return false, nil
	}
	waited := s.between(60_000, 5*3600_000)
	err := t.superstep(ctx, waited, []any{messages.System("A colleague has approved the refund.", s.id())}, "model")
	return err == nil, err
}

// again has the model answer a second time, on a branch from where the question was asked.
func again(ctx context.Context, t *thread, s *speaker, asked checkpoint.Config, found string) error {
	t.now = t.now.Add(s.between(5000, 60_000))
	back := *t
	state, err := t.saver.Get(ctx, asked)
	if err != nil {
		return err
	}
	t.messages, t.values = state.Checkpoint.ChannelValues["messages"].([]any), state.Checkpoint.ChannelValues
	t.versions, t.seen = state.Checkpoint.ChannelVersions, state.Checkpoint.VersionsSeen
	if err := t.fork(ctx, asked); err != nil {
		return err
	}
	t.version, t.running = back.version, "model"
	return t.superstep(ctx, s.between(900, 6000), []any{s.answer("In short: " + found)}, "")
}
