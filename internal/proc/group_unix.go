//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// detached gives a program a session of its own: it has no terminal that it could ask or be stopped by,
// it does not see our ^C, and session and group carry its process id.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func signalGroup(pgid int, sig syscall.Signal) {
	if pgid > 1 {
		_ = syscall.Kill(-pgid, sig)
	}
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return sig.String()
}

func signalMembers(ms []member, sig syscall.Signal) {
	for _, m := range ms {
		if m.group {
			signalGroup(m.pid, sig)
		} else if m.pid > 1 && bornAt(m.pid) == m.born {
			_ = syscall.Kill(m.pid, sig)
		}
	}
}

// killMembers kills processes. They are stopped first, so that none goes on with its next step because another one it
// waits for was killed before it.
func killMembers(ms []member) {
	if len(ms) > 1 {
		signalMembers(ms, syscall.SIGSTOP)
	}
	signalMembers(ms, syscall.SIGKILL)
}

// groupAlive reports whether a process group has a member.
//
//lint:ignore U1000 it is called where the system lists no processes (table_other.go)
func groupAlive(pgid int) bool { return pgid > 1 && syscall.Kill(-pgid, 0) == nil }
