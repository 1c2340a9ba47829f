package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
	"github.com/pgweft/pgweft/testcontainers"
)

// chat is a conversation of so many messages: people, answers with usage, calls of tools and what those gave back.
func chat(length int) []any {
	conversation := make([]any, 0, length)
	for i := range length {
		id := messages.WithID(fmt.Sprintf("msg-%06d", i))
		switch i % 4 {
		case 0:
			conversation = append(conversation, messages.Human("我想给家人买一份医疗保险, which one covers a stay in hospital abroad?", id))
		case 1:
			conversation = append(conversation, messages.AI("", id, messages.WithToolCalls(messages.ToolCall{
				ID: fmt.Sprintf("call-%d", i), Name: "search_products",
				Args: ordered.New().Set("category", "medical").Set("budget", int64(5000)).Set("ages", []any{int64(28), int64(31)}),
			})))
		case 2:
			conversation = append(conversation, messages.Tool(strings.Repeat(`{"product_id": "M001", "price": 399, "cover": 2000000} `, 6),
				fmt.Sprintf("call-%d", i-1), id, messages.WithName("search_products")))
		case 3:
			conversation = append(conversation, messages.AI(strings.Repeat("The plan pays for a stay in hospital in any country. ", 5), id,
				messages.WithUsage(messages.Usage{InputTokens: 812, OutputTokens: 64, TotalTokens: 876}),
				messages.WithResponseMetadata(ordered.New().Set("model_name", "gpt-5-mini").Set("temperature", 0.2))))
		}
	}
	return conversation
}

// BenchmarkMsgpackToJSONB reads conversations as LangGraph writes them. One backend works, on one core.
func BenchmarkMsgpackToJSONB(b *testing.B) {
	conn, err := pgx.Connect(b.Context(), testcontainers.NewDatabase(b).ConnString())
	require.NoError(b, err)
	for _, length := range []int{1, 20, 500} {
		typed, err := serde.Default().Dump(chat(length))
		require.NoError(b, err)
		_, err = conn.Exec(b.Context(), "delete from langgraph.checkpoint_blobs")
		require.NoError(b, err)
		_, err = conn.Exec(b.Context(), `
			insert into langgraph.checkpoint_blobs (thread_id, channel, version, type, blob)
			select 't', 'messages', n::text, $1::text, $2::bytea from generate_series(1, $3::int) n`, typed.Type, typed.Data, 500/length)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("%d messages, %d bytes", length, len(typed.Data)), func(b *testing.B) {
			b.SetBytes(int64(len(typed.Data) * (500 / length)))
			for b.Loop() {
				var decoded int64
				require.NoError(b, conn.QueryRow(b.Context(), `
					select sum(jsonb_array_length(langgraph.value_to_jsonb(type, blob))) from langgraph.checkpoint_blobs`).Scan(&decoded))
				require.Equal(b, int64(500/length*length), decoded)
			}
		})
	}
}
