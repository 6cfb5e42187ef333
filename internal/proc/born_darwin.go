package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bornAt returns the start time of a process, "" if it has ended.
func bornAt(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return ""
	}
	return fmt.Sprintf("%d.%06d", k.Proc.P_starttime.Sec, k.Proc.P_starttime.Usec)
}
