package testcontainers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]Option{
		"WithBackend: there is no Backend(9)":                          WithBackend(9),
		"WithImage: the image has no name":                             WithImage(""),
		"WithLogger: the logger is nil":                                WithLogger(nil),
		"WithSchema: the schema has no name":                           WithSchema(""),
		"WithSettings: fsync cannot be set: use WithoutFsync":          WithSettings(map[string]string{"fsync": "off"}),
		"WithSettings: port cannot be set: the backend chooses it":     WithSettings(map[string]string{"port": "5432"}),
		`WithSettings: "Work_Mem" is not the name of a setting`:        WithSettings(map[string]string{"Work_Mem": "1MB"}),
		`WithSettings: "a=b" is not the name of a setting`:             WithSettings(map[string]string{"a=b": ""}),
		"WithSettings: the value of work_mem has a zero byte in it":    WithSettings(map[string]string{"work_mem": "\x00"}),
		"WithSettings: hba_file cannot be set: the cluster's own is u": WithSettings(map[string]string{"hba_file": "/x"}),
	} {
		p, err := Run(t.Context(), opt)
		require.ErrorContains(t, err, want)
		require.Nil(t, p)
	}
}

func TestSettingsAreGivenInAFixedOrder(t *testing.T) {
	t.Parallel()
	c, err := newConfig([]Option{WithoutFsync(), WithSettings(map[string]string{"b": "2", "a": "1", "c": "3"})})
	require.NoError(t, err)
	require.Equal(t, []string{"-c", "fsync=off", "-c", "a=1", "-c", "b=2", "-c", "c=3"}, c.serverArgs())
}
