//go:build unix

package pgsaver_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used; its servers are others.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
