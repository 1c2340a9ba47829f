package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
)

func names(tasks []checkpoint.Task) []string {
	names := []string{}
	for _, task := range tasks {
		names = append(names, task.Name)
	}
	return names
}

func TestResumePointsAreWhereLangGraphGoesOn(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, moment := range scenario.Moments {
			t.Run(scenario.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				saver := moment.Store.load(t, scenario.Thread)
				newest := map[string]string{}
				for _, snapshot := range moment.Snapshots {
					graph := scenario.graph(snapshot.Namespace)
					wanted := snapshot.wanted(t, scenario.Thread, graph)
					options := graph.options(t, nil)
					if !snapshot.Live {
						resume, err := checkpoint.ResumePoint(t.Context(), saver, wanted.Config, options...)
						require.NoError(t, err)
						require.Equal(t, snapshot.ID != newest[snapshot.Namespace], resume.Replay)
						if resume.Replay {
							require.Equal(t, wanted.Next, names(resume.Remaining), "all happens again")
							require.Empty(t, resume.Done)
							require.Empty(t, resume.Writes)
							require.Empty(t, resume.Interrupts)
						}
						continue
					}
					newest[snapshot.Namespace] = snapshot.ID
					resume, err := checkpoint.ResumePoint(t.Context(), saver, at(wanted.Config, ""), options...)
					require.NoError(t, err)
					var done, remaining []checkpoint.Task
					for _, task := range wanted.Tasks {
						if task.Result != nil {
							done = append(done, task)
						} else {
							remaining = append(remaining, task)
						}
					}
					require.False(t, resume.Replay)
					require.Equal(t, wanted.Config, resume.Config)
					require.Equal(t, wanted.Next, names(resume.Remaining))
					require.Empty(t, cmp.Diff(done, resume.Done, sameValues))
					require.Empty(t, cmp.Diff(remaining, resume.Remaining, sameValues))
					require.Empty(t, cmp.Diff(wanted.Interrupts, resume.Interrupts, sameValues))
				}
			})
		}
	}
}

// moment is a moment of a scenario of testdata/generate.py.
func moment(t *testing.T, scenario, name string) (*memory, checkpoint.Config) {
	t.Helper()
	for _, s := range golden(t) {
		for _, m := range s.Moments {
			if s.Name == scenario && m.Name == name {
				return m.Store.load(t, s.Thread), checkpoint.Config{ThreadID: s.Thread}
			}
		}
	}
	t.Fatalf("there is no moment %q of %q", name, scenario)
	return nil, checkpoint.Config{}
}

// written are the channels and values of writes, as far as they are state.
func written(writes []checkpoint.Write) []any {
	var values []any
	for _, write := range writes {
		if write.Value != nil {
			values = append(values, write.Channel, write.Value)
		}
	}
	return values
}

func TestResumeKeepsWhatOthersHaveDone(t *testing.T) {
	t.Parallel()
	saver, thread := moment(t, "one of two parallel nodes fails", "failed")
	resume, err := checkpoint.ResumePoint(t.Context(), saver, thread)
	require.NoError(t, err)
	require.Equal(t, []string{"left"}, names(resume.Done))
	require.Equal(t, map[string]any{"foo": "left", "bar": []any{"left"}}, resume.Done[0].Result)
	require.Equal(t, []string{"right"}, names(resume.Remaining))
	require.Equal(t, "RuntimeError('boom')", resume.Remaining[0].Error)
	require.Equal(t, []any{"foo", "left", "bar", []any{"left"}, "join:left+right:join", "left"}, written(resume.Writes))
	require.False(t, resume.HasAnswer)

	again, err := checkpoint.ResumePoint(t.Context(), saver, resume.Config)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(resume, again, sameValues), "the newest checkpoint by its ID")
}

func TestResumeKeepsAnswers(t *testing.T) {
	t.Parallel()
	saver, thread := moment(t, "one of two parallel nodes asks", "second question")
	resume, err := checkpoint.ResumePoint(t.Context(), saver, thread)
	require.NoError(t, err)
	require.Equal(t, []string{"right"}, names(resume.Remaining))
	require.Equal(t, map[string][]any{resume.Remaining[0].ID: {int64(1)}}, resume.Answers)
	require.Len(t, resume.Interrupts, 1)
	require.Equal(t, "second?", resume.Interrupts[0].Value)
}

func TestResumeKeepsWhatACommandBrought(t *testing.T) {
	t.Parallel()
	saver, thread := moment(t, "command with an update", "failed")
	resume, err := checkpoint.ResumePoint(t.Context(), saver, thread)
	require.NoError(t, err)
	require.True(t, resume.HasAnswer)
	require.Equal(t, "yes", resume.Answer)
	require.Equal(t, []any{"foo", "from the command", "bar", []any{"command"}}, written(resume.Writes))
	require.Equal(t, []string{"node_b"}, names(resume.Remaining))
	require.Empty(t, resume.Done)
}

func TestResumeOfSentTasksKeepsThoseThatAreDone(t *testing.T) {
	t.Parallel()
	saver, thread := moment(t, "send", "one of three waits")
	resume, err := checkpoint.ResumePoint(t.Context(), saver, thread)
	require.NoError(t, err)
	require.Equal(t, []string{"work", "work"}, names(resume.Done))
	require.Equal(t, []string{"work"}, names(resume.Remaining))
	require.Equal(t, "~__pregel_push, 0000000001, 0000000000", resume.Remaining[0].Path)
	require.Equal(t, []any{"bar", []any{int64(0)}}, written(resume.Writes)[:2])
}
