package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/examples/internal/demo"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

func TestEachQuestionFindsWhatItsUserSaid(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), testcontainers.NewDatabase(t).ConnString(), &out))
	for _, line := range []string{
		"jyden  What is my favorite sport?      My favorite sport is swimming.\n",
		"jyden  What are my food preferences?   I love eating spicy Sichuan food.\n",
		"lin    What is my favorite sport?      Table tennis is the sport for me.\n",
		"lin    What are my food preferences?   The food I like best is dim sum.\n",
		"noor   What is my favorite sport?      No interests found.\n",
		`│ jyden.interests   │ sports │ {"text":"My favorite sport is swimming."}    │`,
		"│ jyden.interests   │ foods  │ $          │ 384  │ [",
		"(6 rows)",
	} {
		require.Contains(t, out.String(), line)
	}
}

func TestTheItemThatIsFoundIsPrintedWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), testcontainers.NewDatabase(t).ConnString(), &out))
	_, printed, found := strings.Cut(out.String(), "What are my food preferences?\n")
	require.True(t, found)
	var item struct {
		Namespace []string
		Key       string
		Value     map[string]any
		CreatedAt string `json:"created_at"`
		UpdatedAt string `json:"updated_at"`
		Score     float64
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(printed)).Decode(&item))
	require.Equal(t, []string{"profile", "interests"}, item.Namespace)
	require.Equal(t, "foods", item.Key)
	require.Equal(t, map[string]any{"text": "I love eating spicy Sichuan food."}, item.Value)
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`, item.CreatedAt)
	require.Equal(t, item.CreatedAt, item.UpdatedAt)
	require.Greater(t, item.Score, 0.05)
	require.Less(t, item.Score, 1.0)
}

func TestTheProgramNeedsNoConfiguration(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, demo.OnThrowawayPostgres(t.Context(), &out, run))
	require.Contains(t, out.String(), `schema "langgraph" migrated`)
}
