package measuring

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNobodyAlwaysComesAfterTheSame(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	sides := []string{"a", "b", "c"}
	var said []string
	for round, inTurn := range Turns(NewProgress(null), 3, sides) {
		for _, s := range inTurn {
			said = append(said, string(rune('0'+round))+s)
		}
	}
	require.Equal(t, []string{"0a", "0b", "0c", "1c", "1b", "1a", "2a", "2b", "2c"}, said)
	require.Equal(t, []string{"a", "b", "c"}, sides)
	for round := range Turns(NewProgress(null), 3, sides) {
		require.Zero(t, round, "a loop that is left has no more rounds")
		break
	}
}

func TestAMachineIsASentence(t *testing.T) {
	t.Parallel()
	m := Machine{
		CPU: "Z80", Cores: 1, Go: "go1", Postgres: "15.1", PGVector: "0.8.0", Settings: map[string]string{"work_mem": "4MB", "jit": "on"},
	}
	require.Equal(t, "PostgreSQL 15.1, pgvector 0.8.0, go1; Z80, 1 cores; jit on, work_mem 4MB, else the server's defaults.", m.String())
	m.Load = "1 2 3"
	require.Contains(t, m.String(), "1 cores (load average at the start: 1 2 3); jit on")
}
