package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/examples/internal/demo"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

func TestTheConversationIsSavedRolledBackAndReadAgain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), testcontainers.NewDatabase(t).ConnString(), &out))
	for _, line := range []string{
		"  ├─ ckpt_003      loop",
		"  └─ ckpt_004      fork  ← the conversation goes on from here",
		`  messages        [human: "你好", ai: "您好!我是您的保险顾问"]`,
		"Proven: ckpt_004, the newest, has no search_results; ckpt_003 still has them.",
		"│ ckpt_003      │ search_products   │ 1   │ tool_calls         │ msgpack │",
		"│ retrieve_context  │ extracted_entities │ 17    │",
		"│ 393          │ 694         │",
	} {
		require.Contains(t, out.String(), line)
	}
}

// The SELECTs of the description are embedded as they are printed there: nine, none changed to suit the schema.
func TestEverySelectOfTheDescriptionIsRun(t *testing.T) {
	t.Parallel()
	require.Equal(t, 9, strings.Count(queries, "-- title: "))
	require.Equal(t, 9, strings.Count(queries, ";"))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), testcontainers.NewDatabase(t).ConnString(), &out))
	for _, block := range strings.Split(queries, "-- title: ")[1:] {
		_, sql, _ := strings.Cut(block, "\n")
		require.Contains(t, out.String(), indent(strings.TrimSpace(sql)))
	}
}

func TestTheProgramNeedsNoConfiguration(t *testing.T) {
	if os.Getenv("DATABASE_URL") != "" {
		t.Log("DATABASE_URL is set, so the program uses that server")
	}
	var out bytes.Buffer
	require.NoError(t, demo.OnThrowawayPostgres(t.Context(), &out, run))
	require.Contains(t, out.String(), `schema "langgraph" migrated`)
}
