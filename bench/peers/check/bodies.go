package main

import "fmt"

type message struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	ID      string `json:"id"`
}

type body struct {
	Channels map[string]any `json:"channels"` // a string, or []message
}

// bodies are small payloads of each kind. Texts differ in length from body to body and from message to message, and have
// letters of several bytes: a digest of the wrong one, or of characters, is another.
var bodies = map[string][]body{
	"small": {
		{Channels: map[string]any{"a": "Müller", "b": "a claim", "c": "of water damage", "d": "2026"}},
		{Channels: map[string]any{"a": "a hailstorm", "b": "Zürich", "c": "日本", "d": "😀"}},
	},
	"20k": {
		{Channels: map[string]any{channel: []message{
			{"human", "My cellar is under water.", "m-1"},
			{"ai", "Ich schaue nach, einen Moment: für wen?", "m-2"},
			{"tool", `{"claim": "日本"}`, "m-3"},
		}}},
		{Channels: map[string]any{channel: []message{
			{"human", "And the café?", "m-4"},
			{"ai", "It is covered, too 😀.", "m-5"},
		}}},
	},
}

const channel = "messages"

// digest is what a sample says of the body with this number.
func digest(payload string, number int) string {
	values := bodies[payload][number%len(bodies[payload])].Channels
	if messages, ok := values[channel].([]message); ok {
		return fmt.Sprintf("messages=%d;last=%d", len(messages), len(messages[len(messages)-1].Content))
	}
	total := 0
	for _, value := range values {
		total += len(value.(string))
	}
	return fmt.Sprintf("channels=%d;bytes=%d", len(values), total)
}

// writesDigest is what a sample says of the writes of a task: the strings, or the messages, of the first body in their order.
func writesDigest(payload string, count int) string {
	var texts []string
	if messages, ok := bodies[payload][0].Channels[channel].([]message); ok {
		for _, m := range messages {
			texts = append(texts, m.Content)
		}
	} else {
		for _, name := range []string{"a", "b", "c", "d"} {
			texts = append(texts, bodies[payload][0].Channels[name].(string))
		}
	}
	total := 0
	for number := range count {
		total += len(texts[number%len(texts)])
	}
	return fmt.Sprintf("writes=%d;bytes=%d", count, total)
}

// deltaDigest is what a sample says of a history of deltas: the messages of the first body, and one for each of the writes.
func deltaDigest(payload string, writes int) string {
	messages := bodies[payload][0].Channels[channel].([]message)
	last := messages[(writes-1)%len(messages)]
	return fmt.Sprintf("%d:messages=%d;last=%d", writes, len(messages)+writes, len(last.Content))
}
