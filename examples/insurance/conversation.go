package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

// thread is what a runtime keeps between supersteps: the state, and the version of each channel in it.
type thread struct {
	saver    *pgsaver.Saver
	config   checkpoint.Config
	values   map[string]any
	versions map[string]checkpoint.Version
	step     int
}

func newThread(saver *pgsaver.Saver, id string) *thread {
	return &thread{
		saver:    saver,
		config:   checkpoint.Config{ThreadID: id},
		values:   map[string]any{},
		versions: map[string]checkpoint.Version{},
		step:     -1,
	}
}

// taskRan saves what a task wrote, as soon as it is done: if another task of the superstep fails, this one need not run
// again.
func (t *thread) taskRan(ctx context.Context, checkpointID, task string, writes ...checkpoint.Write) error {
	config := t.config
	config.CheckpointID = checkpointID
	return t.saver.PutWrites(ctx, config, writes, task, "()")
}

// stepDone saves the superstep: only the channels that changed get a new version, the others are found again by theirs.
func (t *thread) stepDone(ctx context.Context, checkpointID string, changed map[string]any) error {
	newVersions := map[string]checkpoint.Version{}
	for channel, value := range changed {
		t.values[channel] = value
		newVersions[channel] = checkpoint.NextVersion(t.versions[channel])
		t.versions[channel] = newVersions[channel]
	}
	source := checkpoint.SourceLoop
	if t.step < 0 {
		source = checkpoint.SourceInput
	}
	config, err := t.saver.Put(ctx, t.config, &checkpoint.Checkpoint{
		ID:              checkpointID,
		TS:              time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00"),
		ChannelValues:   t.values,
		ChannelVersions: t.versions,
		UpdatedChannels: slices.Sorted(maps.Keys(changed)),
	}, checkpoint.Metadata{"source": source, "step": t.step, "parents": map[string]any{}}, newVersions)
	if err != nil {
		return err
	}
	t.config = config
	t.step++
	return nil
}

func write(channel string, value any) checkpoint.Write {
	return checkpoint.Write{Channel: channel, Value: value}
}

// advise is the conversation up to the recommendation.
func advise(ctx context.Context, saver *pgsaver.Saver, report *report) error {
	report.heading("1  Greeting: two nodes, one superstep")
	hello := messages.Human("你好", messages.WithID("msg-1"))
	welcome := messages.AI("您好!我是您的保险顾问", messages.WithID("msg-2"))
	t := newThread(saver, conversation)
	if err := t.stepDone(ctx, empty, nil); err != nil {
		return err
	}
	if err := t.taskRan(ctx, greeted, "handle_greeting", write("messages", []any{hello})); err != nil {
		return err
	}
	if err := t.taskRan(ctx, greeted, "generate_response", write("messages", []any{welcome})); err != nil {
		return err
	}
	if err := t.stepDone(ctx, greeted, map[string]any{
		"messages":     []any{hello, welcome},
		"user_context": map[string]any{"session_start": "2026-04-07"},
	}); err != nil {
		return err
	}
	report.printf("%s is where the thread begins; %s has two writes and, merged from them, two values.\n", empty, greeted)

	report.heading("2  Recommendation: three nodes, five writes")
	userContext := map[string]any{"intent": "medical_insurance", "age": 28, "budget": 5000}
	products := []any{map[string]any{"product_id": "M001", "name": "百万医疗", "price": 399}}
	advice := messages.AI("为您推荐百万医疗险:保额高,保费低,适合28岁的您。", messages.WithID("msg-3"))
	for _, task := range []struct {
		name   string
		writes []checkpoint.Write
	}{
		{"retrieve_context", []checkpoint.Write{
			write("user_context", userContext),
			write("extracted_entities", []any{"医疗险", "28岁"}),
		}},
		{"search_products", []checkpoint.Write{
			write("search_results", products),
			write("tool_calls", []any{map[string]any{"name": "search_db", "args": map[string]any{"category": "medical"}}}),
		}},
		{"generate_response", []checkpoint.Write{write("messages", []any{advice})}},
	} {
		if err := t.taskRan(ctx, recommended, task.name, task.writes...); err != nil {
			return err
		}
		report.printf("%-17s wrote %s\n", task.name, channelNames(task.writes))
	}
	err := t.stepDone(ctx, recommended, map[string]any{
		"messages":       []any{hello, welcome, advice},
		"user_context":   userContext,
		"search_results": products,
	})
	if err != nil {
		return err
	}
	report.printf("%s is saved: the merged state, three values.\n", recommended)
	return nil
}

func channelNames(writes []checkpoint.Write) string {
	names := make([]string, len(writes))
	for i, write := range writes {
		names[i] = write.Channel
	}
	return strings.Join(names, ", ")
}

// changeMind rolls back to the greeting. Nothing is removed: the conversation goes on from a new checkpoint.
func changeMind(ctx context.Context, saver *pgsaver.Saver, report *report) error {
	report.heading("3  \"我刚才说错了,我不想看病险了\": roll back to " + greeted)
	config, err := saver.Fork(ctx, at(conversation, greeted), checkpoint.ForkOptions{ID: rolledBack})
	if err != nil {
		return err
	}
	report.printf("%s continues from %s; %s stays where it is.\n\n", config.CheckpointID, greeted, recommended)
	return report.tree(ctx, conversation)
}

// readBack reads each checkpoint whole, and checks that the branch knows nothing of what it left behind.
func readBack(ctx context.Context, saver *pgsaver.Saver, report *report) error {
	report.heading("4  Each state, read back")
	for _, id := range []string{empty, greeted, recommended, rolledBack} {
		tuple, err := saver.Get(ctx, at(conversation, id))
		if err != nil {
			return err
		}
		report.state(tuple)
	}

	newest, err := saver.Get(ctx, checkpoint.Config{ThreadID: conversation})
	if err != nil {
		return err
	}
	if newest.Config.CheckpointID != rolledBack {
		return fmt.Errorf("the conversation goes on from %s, not from the branch %s", newest.Config.CheckpointID, rolledBack)
	}
	if results, found := newest.Checkpoint.ChannelValues["search_results"]; found {
		return fmt.Errorf("the branch %s still has the search results %v", rolledBack, serde.Plain(results))
	}
	old, err := saver.Get(ctx, at(conversation, recommended))
	if err != nil {
		return err
	}
	if _, found := old.Checkpoint.ChannelValues["search_results"]; !found {
		return fmt.Errorf("the old branch %s has lost its search results", recommended)
	}
	report.printf("\nProven: %s, the newest, has no search_results; %s still has them.\n", rolledBack, recommended)
	return nil
}

// overview is the second conversation of the queries below: the same flow under another thread, with an update and a
// rollback after it.
func overview(ctx context.Context, saver *pgsaver.Saver, report *report) error {
	report.heading("6  A second conversation, for the analyst: recommend, go on, roll back")
	const other = "thread_001"
	msg1 := messages.Human("推荐医疗险", messages.WithID("m1"))
	msg2 := messages.AI("推荐您购买百万医疗险。", messages.WithID("m2"))
	found := messages.Tool("百万医疗,每年399元", "call-1", messages.WithID("m3"))
	files := map[string]any{"file_001": map[string]any{"name": "体检报告.pdf", "pages": 12}}
	user := map[string]any{"age": 30, "name": "张三"}

	t := newThread(saver, other)
	if err := t.stepDone(ctx, "ckpt_003", nil); err != nil {
		return err
	}
	if err := t.stepDone(ctx, "ckpt_004", map[string]any{"messages": []any{msg1}, "files": files}); err != nil {
		return err
	}
	for _, task := range []struct {
		name    string
		channel string
		value   any
	}{
		{"retrieve_context", "user_context", user},
		{"search_products", "messages", []any{messages.AI("", messages.WithID("m4")), found}},
		{"generate_response", "messages", []any{msg2}},
	} {
		if err := t.taskRan(ctx, "ckpt_005", task.name, write(task.channel, task.value)); err != nil {
			return err
		}
	}
	if err := t.stepDone(ctx, "ckpt_005", map[string]any{
		"messages": []any{msg1, msg2}, "user_context": user,
	}); err != nil {
		return err
	}
	err := t.stepDone(ctx, "ckpt_006", map[string]any{
		"messages": []any{msg1, msg2, messages.Human("多少钱?", messages.WithID("m5")), messages.AI("每年399元。", messages.WithID("m6"))},
	})
	if err != nil {
		return err
	}
	if _, err := saver.Fork(ctx, at(other, "ckpt_005"), checkpoint.ForkOptions{ID: "ckpt_007"}); err != nil {
		return err
	}
	return report.tree(ctx, other)
}
