package checkpoint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
)

// benchmarkCheckpoints are checkpoints as Postgres gives them back: of a small graph whose values stand inline, and of one with
// many channels whose values stand elsewhere.
func benchmarkCheckpoints() map[string]*checkpoint.Checkpoint {
	small := &checkpoint.Checkpoint{ChannelValues: map[string]any{}}
	for _, channel := range []string{"a", "b", "c", "d"} {
		small.ChannelValues[channel] = strings.Repeat("The weft crosses the warp. ", 8)[:200]
	}
	large := &checkpoint.Checkpoint{ChannelValues: map[string]any{"__start__": nil, "turn": int64(7), "score": 0.5}}
	for cp, channels := range map[*checkpoint.Checkpoint]int{small: 4, large: 40} {
		cp.V, cp.ID, cp.TS = 4, "1f132d6e-7a83-6a30-8001-9b1c0f7f2d11", "2026-04-07T10:00:00.123456+00:00"
		cp.ChannelVersions = map[string]checkpoint.Version{}
		for i := range channels {
			channel := fmt.Sprintf("%c", 'a'+i)
			cp.ChannelVersions[channel] = checkpoint.NextVersion(checkpoint.Version{})
			cp.UpdatedChannels = append(cp.UpdatedChannels, channel)
		}
		cp.VersionsSeen = map[string]map[string]checkpoint.Version{"agent": cp.ChannelVersions, "__input__": {}}
	}
	return map[string]*checkpoint.Checkpoint{"4-inline": small, "40-channels": large}
}

var benchmarkMetadata = checkpoint.Metadata{
	"source": "loop", "step": int64(7), "parents": map[string]any{}, "run_id": "1f132d6e-7a83-6a30-8001-9b1c0f7f2d11",
}

func BenchmarkCheckpointMarshalJSON(b *testing.B) {
	for name, cp := range benchmarkCheckpoints() {
		b.Run(name, func(b *testing.B) { benchmarkMarshal(b, cp) })
	}
}

func BenchmarkMetadataMarshalJSON(b *testing.B) { benchmarkMarshal(b, benchmarkMetadata) }

func benchmarkMarshal(b *testing.B, value json.Marshaler) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		encoded, err := value.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(encoded)))
	}
}

func BenchmarkCheckpointUnmarshalJSON(b *testing.B) {
	for name, cp := range benchmarkCheckpoints() {
		b.Run(name, func(b *testing.B) { benchmarkUnmarshal(b, cp, &checkpoint.Checkpoint{}) })
	}
}

func BenchmarkMetadataUnmarshalJSON(b *testing.B) {
	benchmarkUnmarshal(b, benchmarkMetadata, &checkpoint.Metadata{})
}

func benchmarkUnmarshal(b *testing.B, value json.Marshaler, into json.Unmarshaler) {
	b.Helper()
	encoded, err := value.MarshalJSON()
	require.NoError(b, err)
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if err := into.UnmarshalJSON(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
