package checkpoint_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
)

func TestNewIDIsAUUIDOfVersion6ThatCarriesTheStep(t *testing.T) {
	t.Parallel()
	for step, sequence := range map[int]int{-2: 16382, -1: 16383, 0: 0, 1: 1, 16383: 16383, 16384: 0, 20000: 3616} {
		id, err := uuid.Parse(checkpoint.NewID(step))
		require.NoError(t, err)
		require.EqualValues(t, 6, id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.Equal(t, sequence, id.ClockSequence()&0x3fff, "step %d", step)
		require.Len(t, id.String(), 36)
	}
}

// A UUID of version 1 holds the same clock in another order of its fields. (google/uuid's NewV6 does not shift the time,
// so its ids sort below those of LangGraph.)
func TestNewIDHasTheTimeOfTheClock(t *testing.T) {
	t.Parallel()
	clock := func() int64 {
		id, err := uuid.NewUUID()
		require.NoError(t, err)
		return int64(id.Time())
	}
	before := clock()
	id := checkpoint.NewID(0)
	after := clock()
	ticks, err := strconv.ParseInt(id[:8]+id[9:13]+id[15:18], 16, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, ticks, before)
	// Ids made at the same time by other tests push it ahead of the clock, by one tick each.
	const others = 100_000
	require.LessOrEqual(t, ticks, after+others)
}

func TestNewIDsRiseWithinOneProcess(t *testing.T) {
	t.Parallel()
	previous := checkpoint.NewID(5)
	for step := range 10_000 {
		id := checkpoint.NewID(-step)
		require.Greater(t, id, previous)
		previous = id
	}
}

func TestNewIDsOfManyGoroutinesDifferAndRiseInEach(t *testing.T) {
	t.Parallel()
	made := make([][]string, 8)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() {
			for range 1000 {
				made[i] = append(made[i], checkpoint.NewID(0))
			}
		})
	}
	group.Wait()
	var all []string
	for _, ids := range made {
		require.True(t, slices.IsSorted(ids))
		all = append(all, ids...)
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 8000)
}
