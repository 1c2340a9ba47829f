package measuring

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for i := 100; i >= 1; i-- {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	require.InDelta(t, 50, Percentile(times, 50), 0)
	require.InDelta(t, 95, Percentile(times, 95), 0)
	require.InDelta(t, 99, Percentile(times, 99), 0)
	require.InDelta(t, 100, Percentile(times, 100), 0)
	require.InDelta(t, 7.25, Percentile([]time.Duration{7250 * time.Microsecond}, 1), 0)
	require.InDelta(t, 2, Percentile([]time.Duration{3e6, 1e6, 2e6}, 50), 0)
	require.InDelta(t, 0, Percentile(nil, 50), 0)
}
