package proc

import "os"

// Above lists the ancestors of this process, the parent first. Processes adopted by a keeper are its descendants, so
// a daemon of an agent still has the runplan of its run as an ancestor.
func Above() []int {
	var out []int
	for pid := os.Getppid(); pid > 1 && len(out) < 100; {
		out = append(out, pid)
		r, ok := readRow(pid)
		if !ok {
			break
		}
		pid = r.ppid
	}
	return out
}
