//go:build unix

package proc

import (
	"cmp"
	"syscall"

	"golang.org/x/sys/unix"
)

// detached gives a program a new session: it has no controlling terminal, it does not receive our ^C, and its session
// and group id are its process id.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func signalGroup(pgid int, sig syscall.Signal) {
	if pgid > 1 {
		_ = syscall.Kill(-pgid, sig)
	}
}

func signalName(sig syscall.Signal) string { return cmp.Or(unix.SignalName(sig), sig.String()) }

func signalMembers(ms []member, sig syscall.Signal) {
	for _, m := range ms {
		if m.group {
			signalGroup(m.pid, sig)
		} else if m.pid > 1 && bornAt(m.pid) == m.born {
			_ = syscall.Kill(m.pid, sig)
		}
	}
}

// killMembers kills processes. It stops them first, so that none continues because a process that it waited for was
// killed before it.
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
