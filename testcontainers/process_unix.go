//go:build unix

package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// account is the user to run the server as, nil for the user of this process.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount chooses another user where this process is root, which Postgres refuses to run as.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no other user is an answer
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("Postgres does not run as root, and there is neither a user postgres nor a user nobody to run it as")
}

// attributes put a program into a session of its own, out of reach of the terminal's signals, and under the account.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// reaches tells whether the account may go to a directory.
func (a *account) reaches(dir string) bool {
	if a == nil {
		return true
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// process is a server that runs as a child of this process.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has been waited for
	err    error         // of Wait; read after exited
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// shutdownSignals are the postmaster's signals for the ways to stop, from the mildest to the one that always works, each
// with the time it is given.
var shutdownSignals = []struct {
	signal  syscall.Signal
	patient time.Duration
}{
	fastShutdown:      {syscall.SIGINT, 20 * time.Second},
	immediateShutdown: {syscall.SIGQUIT, 10 * time.Second},
	2:                 {syscall.SIGKILL, time.Minute},
}

// stop ends the process and waits for it. A context that is done makes it less patient; it is stopped all the same.
func (p *process) stop(ctx context.Context, how shutdown) error {
	for _, step := range shutdownSignals[how:] {
		if err := p.cmd.Process.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("signal the server: %w", err)
		}
		if p.wait(ctx, step.patient) {
			return nil
		}
		ctx = context.WithoutCancel(ctx)
	}
	return fmt.Errorf("the server (process %d) does not end", p.cmd.Process.Pid)
}

func (p *process) wait(ctx context.Context, patient time.Duration) bool {
	timer := time.NewTimer(patient)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
