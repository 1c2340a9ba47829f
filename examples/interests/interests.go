package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/pgweft/pgweft/examples/internal/demo"
	"github.com/pgweft/pgweft/store"
)

// remember stores what a user likes, all of it or nothing.
func remember(ctx context.Context, memory store.Store, namespace []string, said map[string]string) error {
	var puts []store.Op
	for key, text := range said {
		puts = append(puts, store.PutOp{Namespace: namespace, Key: key, Value: map[string]any{"text": text}})
	}
	_, err := memory.Batch(ctx, puts...)
	return err
}

// findByMeaning is the smallest use of the store: two items, one question, the item that fits it best.
func findByMeaning(ctx context.Context, memory store.Store, out io.Writer) error {
	demo.Heading(out, "1  Two interests, and the one that a question is about")
	interests := []string{"profile", "interests"}
	err := remember(ctx, memory, interests, map[string]string{
		"foods":  "I love eating spicy Sichuan food.",
		"sports": "My favorite sport is swimming.",
	})
	if err != nil {
		return err
	}
	const question = "What are my food preferences?"
	found, err := store.Search(ctx, memory, store.SearchOp{NamespacePrefix: interests, Query: question, Limit: 1})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, question)
	for _, item := range found {
		if err := printItem(out, item); err != nil {
			return err
		}
	}
	return nil
}

func printItem(out io.Writer, item store.SearchItem) error {
	const microseconds = "2006-01-02T15:04:05.000000-07:00"
	encoded, err := json.MarshalIndent(struct {
		Namespace []string       `json:"namespace"`
		Key       string         `json:"key"`
		Value     map[string]any `json:"value"`
		CreatedAt string         `json:"created_at"`
		UpdatedAt string         `json:"updated_at"`
		Score     *float64       `json:"score"`
	}{
		item.Namespace, item.Key, item.Value, item.CreatedAt.In(time.UTC).Format(microseconds),
		item.UpdatedAt.In(time.UTC).Format(microseconds), item.Score,
	}, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", encoded)
	return nil
}

// answerUsers is the assistant: it knows who asks, and looks among the interests of that user only.
func answerUsers(ctx context.Context, memory store.Store, out io.Writer) error {
	demo.Heading(out, "2  The assistant answers each user from that user's own interests")
	for user, said := range map[string]map[string]string{
		"jyden": {"foods": "I love eating spicy Sichuan food.", "sports": "My favorite sport is swimming."},
		"lin":   {"foods": "The food I like best is dim sum.", "sports": "Table tennis is the sport for me."},
	} {
		if err := remember(ctx, memory, []string{user, "interests"}, said); err != nil {
			return err
		}
	}
	for _, asked := range []struct{ user, question string }{
		{"jyden", "What is my favorite sport?"},
		{"jyden", "What are my food preferences?"},
		{"lin", "What is my favorite sport?"},
		{"lin", "What are my food preferences?"},
		{"noor", "What is my favorite sport?"},
	} {
		answer, err := answer(ctx, memory, asked.user, asked.question)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-5s  %-30s  %s\n", asked.user, asked.question, answer)
	}
	return nil
}

func answer(ctx context.Context, memory store.Store, user, question string) (string, error) {
	found, err := store.Search(ctx, memory, store.SearchOp{
		NamespacePrefix: []string{user, "interests"}, Query: question, Limit: 1,
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "No interests found.", nil
	}
	return fmt.Sprint(found[0].Value["text"]), nil
}
