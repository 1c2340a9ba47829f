package serde_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// conversation returns n exchanges of about size bytes of text each.
func conversation(n, size int) []any {
	text := strings.Repeat("The shuttle carries the weft across the warp. ", size/46+1)[:size]
	list := make([]any, 0, 2*n)
	for i := range n {
		id := fmt.Sprintf("message-%d", i)
		list = append(list, messages.Human(text[:size/2], messages.WithID(id)))
		list = append(list, messages.AI(text[size/2:], messages.WithID(id+"a"),
			messages.WithToolCalls(messages.ToolCall{Name: "search", Args: ordered.New().Set("query", "weft"), ID: id}),
			messages.WithUsage(messages.Usage{InputTokens: 350, OutputTokens: 240, TotalTokens: 590}),
			messages.WithResponseMetadata(ordered.New().Set("model_name", "loom-1").Set("finish_reason", "stop"))))
	}
	return list
}

// payloads are the sizes of the design's measurements: a small state, a chat,
// and a long one.
func payloads() map[string]any {
	small := ordered.New()
	for i := range 4 {
		small.Set(fmt.Sprintf("channel-%d", i), strings.Repeat("x", 200))
	}
	return map[string]any{
		"state 4x200B":  small,
		"messages 20KB": conversation(14, 900),
		"messages 1MB":  conversation(320, 2700),
	}
}

func BenchmarkDump(b *testing.B) {
	for name, value := range payloads() {
		b.Run(name, func(b *testing.B) {
			typed, err := serde.Default().Dump(value)
			require.NoError(b, err)
			b.SetBytes(int64(len(typed.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := serde.Default().Dump(value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for name, value := range payloads() {
		b.Run(name, func(b *testing.B) {
			typed, err := serde.Default().Dump(value)
			require.NoError(b, err)
			b.SetBytes(int64(len(typed.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := serde.Default().Load(typed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncrypted(b *testing.B) {
	cipher, err := serde.NewAES([]byte("0123456789abcdef"))
	require.NoError(b, err)
	s := serde.Encrypted(serde.Default(), cipher)
	value := payloads()["messages 20KB"]
	typed, err := s.Dump(value)
	require.NoError(b, err)
	b.Run("Dump", func(b *testing.B) {
		b.SetBytes(int64(len(typed.Data)))
		for b.Loop() {
			if _, err := s.Dump(value); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Load", func(b *testing.B) {
		b.SetBytes(int64(len(typed.Data)))
		for b.Loop() {
			if _, err := s.Load(typed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
