package sql_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A node that loops empties the channel that triggered it, and its task triggers it again: there is a new version, a write and
// no value, and nothing is missing. LangGraph's runtime does not name the channel among those that the step updated.
func TestChannelsThatAStepOnlyEmptiedAreNotMissing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	_, err := db.Exec(t.Context(), `
		insert into langgraph.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint) values
			('t', '1', null, '{"channel_values": {"branch:to:model": null}, "channel_versions": {"branch:to:model": "2"}, "updated_channels": ["branch:to:model"]}'),
			('t', '2', '1', '{"channel_values": {}, "channel_versions": {"branch:to:model": "3", "lost": "3"}, "updated_channels": ["lost"]}')`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `
		insert into langgraph.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob) values
			('t', '1', 'model', 0, 'lost', 'msgpack', '\xc0'), ('t', '2', 'tool', 0, 'branch:to:model', 'null', '')`)
	require.NoError(t, err)
	require.Equal(t, []string{"lost"}, column[string](t, db, "select channel from langgraph.missing_values('t', '', '2')"))
	require.Equal(t, []string{"lost"}, column[string](t, db, "select channel from langgraph.fsck() where problem = 'missing value'"))
}
