//go:build unix

package testcontainers

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheServerIsRemovedWhenTheTestProcess(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(pid int) error{
		"is killed":      func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		"is terminated":  func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
		"is interrupted": func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) }, // as by Ctrl-C: the whole group
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, out := startHelper(t, "run until killed")
			server := readStarted(t, out)
			require.Empty(t, server.Error)
			dir := clusterDir(t, server.ConnString)
			require.Equal(t, 1, queryValue[int](t, server.ConnString, "select 1"))
			require.NotEmpty(t, processesIn(t, dir))

			require.NoError(t, end(cmd.Process.Pid))
			_ = cmd.Wait()
			requireGone(t, dir)
		})
	}
}

func TestTheServerIsRemovedWhenTheTestProcessIsKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("/tmp", "pgweft-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(parent)) })
	require.NoError(t, os.Chmod(parent, 0o755))
	cmd, _ := startHelper(t, "run until killed", "TMPDIR="+parent)

	var initializing []string
	require.Eventually(t, func() bool {
		initializing, err = filepath.Glob(filepath.Join(parent, "*", "data", "base"))
		return err == nil && len(initializing) == 1
	}, patience, 5*time.Millisecond, "initdb did not get to work")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	requireGone(t, filepath.Dir(filepath.Dir(initializing[0])))
}

func TestMainReports(t *testing.T) {
	t.Parallel()
	for mode, code := range map[string]int{"leave a database": 1, "leave a goroutine": 1, "leave nothing": 0} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cmd, out := startHelper(t, mode)
			if mode != "leave a goroutine" {
				requireGone(t, clusterDir(t, readStarted(t, out).ConnString))
			}
			_ = cmd.Wait()
			require.Equal(t, code, cmd.ProcessState.ExitCode())
		})
	}
}

func TestWithoutAnEngine(t *testing.T) {
	t.Parallel()
	const defaultSocket = "/var/run/docker.sock"
	if _, err := os.Stat(defaultSocket); err == nil {
		t.Skipf("%s exists: this test is for machines without Docker", defaultSocket)
	}
	noEngine := []string{"DOCKER_HOST=unix:///nonexistent/docker.sock", "HOME=" + t.TempDir(), "XDG_RUNTIME_DIR="}

	t.Run("this machine's binaries are taken", func(t *testing.T) {
		t.Parallel()
		_, out := startHelper(t, "choose", noEngine...)
		require.Equal(t, "Local", readStarted(t, out).Backend)
	})
	t.Run("Docker alone fails and says so", func(t *testing.T) {
		t.Parallel()
		_, out := startHelper(t, "docker only", noEngine...)
		require.Contains(t, readStarted(t, out).Error, errNoEngine.Error())
	})
}
