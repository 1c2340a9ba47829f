//go:build !unix

package testcontainers

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }
