package checkpoint_test

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
)

func TestVersionKeepsItsKindThroughJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version checkpoint.Version
		json    string
		text    string
		number  bool
	}{
		"text of Python":     {checkpoint.StringVersion("00000000000000000000000000000002.0.5"), `"00000000000000000000000000000002.0.5"`, "00000000000000000000000000000002.0.5", false},
		"text of a number":   {checkpoint.StringVersion("7"), `"7"`, "7", false},
		"text to be escaped": {checkpoint.StringVersion(`"\<é`), `"\"\\\u003cé"`, `"\<é`, false},
		"an integer":         {checkpoint.IntVersion(7), `7`, "7", true},
		"a negative integer": {checkpoint.IntVersion(-1), `-1`, "-1", true},
		"largest integer":    {checkpoint.IntVersion(math.MaxInt64), `9223372036854775807`, "9223372036854775807", true},
		"a float":            {checkpoint.FloatVersion(7.25), `7.25`, "7.25", true},
		"a whole float":      {checkpoint.FloatVersion(7), `7.0`, "7.0", true},
		"a small float":      {checkpoint.FloatVersion(1e-7), `0.0000001`, "0.0000001", true},
		"no version":         {checkpoint.Version{}, `null`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := json.Marshal(c.version)
			require.NoError(t, err)
			require.Equal(t, c.json, string(encoded))
			require.Equal(t, c.text, c.version.String())
			require.Equal(t, c.number, c.version.IsNumber())

			decoded := checkpoint.StringVersion("overwritten")
			require.NoError(t, json.Unmarshal([]byte(c.json), &decoded))
			require.Equal(t, c.version, decoded)
		})
	}
}

func TestVersionKeepsNumbersThatNoGoTypeHolds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"123456789012345678901234567890", "0.1234567890123456789", "1.50"} {
		var version checkpoint.Version
		require.NoError(t, json.Unmarshal([]byte(text), &version))
		encoded, err := json.Marshal(version)
		require.NoError(t, err)
		require.Equal(t, text, string(encoded))
		require.Equal(t, text, version.String())
	}
}

// Postgres keeps numbers in JSON as numeric: it knows no exponent and no negative zero.
func TestVersionIsWrittenAsADatabaseWritesNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1e3": "1000.0", "1.5E+3": "1500.0", "1e-7": "0.0000001", "-0": "0", "-0.0": "0.0", "-0e0": "0.0", "-0.5": "-0.5",
	} {
		version := decodeVersion(t, text)
		require.Equal(t, want, version.String())
		require.True(t, version.IsNumber())
	}
}

func TestVersionRefusesNumbersBeyondFloats(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1e400", "-1e999999999", "1" + strings.Repeat("0", 400)} {
		var version checkpoint.Version
		require.ErrorContains(t, json.Unmarshal([]byte(text), &version), "that a float holds")
		require.True(t, version.IsZero())
	}
}

func TestVersionRefusesOtherJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`true`, `[1]`, `{}`} {
		var version checkpoint.Version
		err := json.Unmarshal([]byte(text), &version)
		require.ErrorContains(t, err, "text or a number, not "+text)
		require.True(t, version.IsZero())
	}
}

func TestFloatVersionIsNeverWhatADatabaseWouldChange(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.True(t, checkpoint.FloatVersion(f).IsZero(), "%v", f)
	}
	require.Equal(t, checkpoint.FloatVersion(0), checkpoint.FloatVersion(math.Copysign(0, -1)))
	require.Equal(t, "0.0", checkpoint.FloatVersion(math.Copysign(0, -1)).String())
}

func TestVersionsCompareByCounterWithinAndAcrossKinds(t *testing.T) {
	t.Parallel()
	padded := func(counter, fraction string) checkpoint.Version {
		return checkpoint.StringVersion(strings.Repeat("0", 32-len(counter)) + counter + "." + fraction)
	}
	// Each is older than the next.
	for name, rising := range map[string][]checkpoint.Version{
		"integers":            {{}, checkpoint.IntVersion(-1), checkpoint.IntVersion(9), checkpoint.IntVersion(10), checkpoint.IntVersion(math.MaxInt64)},
		"floats and integers": {checkpoint.FloatVersion(0.5), checkpoint.IntVersion(1), checkpoint.FloatVersion(1.5), checkpoint.IntVersion(2)},
		"padded text":         {{}, padded("1", "0.9"), padded("2", "0.1"), padded("2", "0.2"), padded("10", "0.0")},
		"text as bytes":       {checkpoint.StringVersion("10"), checkpoint.StringVersion("9"), checkpoint.StringVersion("B"), checkpoint.StringVersion("a"), checkpoint.StringVersion("é")},
		"numbers and text":    {checkpoint.IntVersion(1), padded("2", "0.5"), checkpoint.IntVersion(3), padded("11", "0.5"), checkpoint.FloatVersion(12.5)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, older := range rising {
				same := older
				require.Zero(t, older.Compare(same))
				for _, newer := range rising[i+1:] {
					require.Negative(t, older.Compare(newer), "%v and %v", older, newer)
					require.Positive(t, newer.Compare(older), "%v and %v", newer, older)
				}
			}
		})
	}
}

func TestVersionsOfOneValueAreNeitherOlderNorNewer(t *testing.T) {
	t.Parallel()
	require.Zero(t, checkpoint.IntVersion(1).Compare(checkpoint.FloatVersion(1)))
	require.Zero(t, checkpoint.StringVersion("1").Compare(checkpoint.IntVersion(1)))
	require.NotEqual(t, checkpoint.IntVersion(1), checkpoint.FloatVersion(1), "they are different keys")
	require.Equal(t, checkpoint.Version{}, checkpoint.StringVersion(""), "empty text is no version")
}

func TestNextVersionHasTheFormOfLangGraph(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9]{32}\.0+\.?[0-9]*$`)
	first := checkpoint.NextVersion(checkpoint.Version{})
	require.Regexp(t, form, first.String())
	require.GreaterOrEqual(t, len(first.String()), 32+1+16)
	require.Equal(t, strings.Repeat("0", 31)+"1", first.String()[:32])
	require.False(t, first.IsNumber())

	after := checkpoint.NextVersion(checkpoint.StringVersion("00000000000000000000000000000099.0.7300145"))
	require.Regexp(t, form, after.String())
	require.Equal(t, strings.Repeat("0", 29)+"100", after.String()[:32])
}

func TestNextVersionKeepsTheKindAndIsNewer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		current checkpoint.Version
		next    checkpoint.Version
	}{
		"an integer":                     {checkpoint.IntVersion(7), checkpoint.IntVersion(8)},
		"zero":                           {checkpoint.IntVersion(0), checkpoint.IntVersion(1)},
		"a float":                        {checkpoint.FloatVersion(7.25), checkpoint.IntVersion(8)},
		"a whole float":                  {checkpoint.FloatVersion(7), checkpoint.IntVersion(8)},
		"a number written with exponent": {decodeVersion(t, "1.5e3"), checkpoint.IntVersion(1501)},
		"an integer above int64":         {checkpoint.IntVersion(math.MaxInt64), decodeVersion(t, "9223372036854775808")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := checkpoint.NextVersion(c.current)
			require.Equal(t, c.next, next)
			require.Positive(t, next.Compare(c.current))
		})
	}
}

func TestNextVersionDiffersBetweenWritersOfText(t *testing.T) {
	t.Parallel()
	current := checkpoint.NextVersion(checkpoint.Version{})
	var versions []string
	for range 100 {
		next := checkpoint.NextVersion(current)
		require.Positive(t, next.Compare(current))
		versions = append(versions, next.String())
		require.Equal(t, checkpoint.NextVersion(checkpoint.IntVersion(1)), checkpoint.IntVersion(2), "integers have no such guard")
	}
	slices.Sort(versions)
	require.Len(t, slices.Compact(versions), 100)
}

func decodeVersion(t *testing.T, text string) checkpoint.Version {
	t.Helper()
	var version checkpoint.Version
	require.NoError(t, json.Unmarshal([]byte(text), &version))
	return version
}

func FuzzVersionSurvivesJSON(f *testing.F) {
	for _, seed := range []string{`"1"`, `1`, `1.0`, `null`, `1e5`, `"é\u0000"`, `-0`, `1e999999999`, `{}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var version, again checkpoint.Version
		if json.Unmarshal([]byte(text), &version) != nil {
			return
		}
		encoded, err := json.Marshal(version)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &again))
		require.Equal(t, version, again)
		require.Zero(t, version.Compare(again))
		require.GreaterOrEqual(t, checkpoint.NextVersion(version).Compare(checkpoint.Version{}), 1)
	})
}
