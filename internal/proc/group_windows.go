package proc

import (
	"os"
	"syscall"
)

func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signalGroup ends the process itself; Windows has no signals, so its children are not found.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func signalName(sig syscall.Signal) string { return sig.String() }

func signalMembers([]member, syscall.Signal) {}

func killMembers([]member) {}

func groupAlive(int) bool { return false }
