//go:build unix

package testcontainers

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// watchdog is the process that cleans up after a test process that did not.
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

func startWatchdog(dir string) (*watchdog, error) {
	// Not an exec.Cmd StdinPipe: the pipe must be open for as long as this process lives, and no longer.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "pgweft-watchdog", dir)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"}
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: w}, nil
}

// track names the process to stop when the test process ends, 0 for none.
func (w *watchdog) track(pid int) error {
	line := "\n"
	if pid != 0 {
		line = strconv.Itoa(pid) + "\n"
	}
	if _, err := io.WriteString(w.pipe, line); err != nil {
		return fmt.Errorf("the watchdog process is gone: %w", err)
	}
	return nil
}

// release lets the watchdog finish, which removes the directory where it is still there.
func (w *watchdog) release() error {
	_ = w.pipe.Close()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("the watchdog process: %w", err)
	}
	return nil
}
