package checkpoint_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
)

func TestMetadataReadsWhatLangGraphNotes(t *testing.T) {
	t.Parallel()
	var metadata checkpoint.Metadata
	require.NoError(t, json.Unmarshal([]byte(
		`{"source": "loop", "step": 3, "run_id": "r", "parents": {"": "1ef", "node:1": "1f0"}, "score": 1.0}`), &metadata))
	step, noted := metadata.Step()
	require.True(t, noted)
	require.Equal(t, 3, step)
	require.Equal(t, checkpoint.SourceLoop, metadata.Source())
	require.Equal(t, "r", metadata.RunID())
	require.Equal(t, map[string]string{"": "1ef", "node:1": "1f0"}, metadata.Parents())
	require.Equal(t, checkpoint.Metadata{
		"source": "loop", "step": int64(3), "run_id": "r", "parents": map[string]any{"": "1ef", "node:1": "1f0"}, "score": 1.0,
	}, metadata)
}

func TestMetadataOfAnyKindOfStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step  any
		want  int
		noted bool
	}{
		"int": {-1, -1, true}, "int64": {int64(7), 7, true}, "float64": {7.0, 7, true}, "text": {"7", 0, false}, "null": {nil, 0, false},
	} {
		step, noted := checkpoint.Metadata{"step": c.step}.Step()
		require.Equal(t, c.noted, noted, name)
		require.Equal(t, c.want, step, name)
	}
	_, noted := checkpoint.Metadata(nil).Step()
	require.False(t, noted)
}

func TestMetadataWithoutNotesIsEmpty(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]checkpoint.Metadata{
		"nil": nil, "empty": {}, "of other types": {"source": 1, "run_id": []any{}, "parents": "x"},
	} {
		require.Empty(t, metadata.Source(), name)
		require.Empty(t, metadata.RunID(), name)
		require.NotNil(t, metadata.Parents(), name)
		require.Empty(t, metadata.Parents(), name)
	}
}

func TestMetadataParentsMayBeTypedAndSkipWhatIsNoText(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]string{"": "1ef"}, checkpoint.Metadata{"parents": map[string]string{"": "1ef"}}.Parents())
	require.Equal(t, map[string]string{"": "1ef"}, checkpoint.Metadata{"parents": map[string]any{"": "1ef", "x": 1}}.Parents())
}
