package proc

import "os"

// Above lists the processes that this one descends from, the parent first. What a keeper adopted descends from it, so a
// daemon of an agent still has the runplan of its run above itself.
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
