//go:build unix

package plugin

import "syscall"

// detached starts a plugin in a new session: it does not receive ^C, has no terminal, and its children are in its
// process group.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminate asks the process group of a plugin to end.
func terminate(pid int) { signalGroup(pid, syscall.SIGTERM) }

func kill(pid int) { signalGroup(pid, syscall.SIGKILL) }

func signalGroup(pid int, sig syscall.Signal) {
	if pid > 1 {
		_ = syscall.Kill(-pid, sig)
	}
}
