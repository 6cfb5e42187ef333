package proc

import (
	"bytes"
	"os"
	"strconv"
)

// row is what /proc/PID/stat tells.
type row struct {
	pid, ppid, pgrp, session int
	state                    byte
	start                    uint64 // clock ticks since boot
}

func (r row) alive() bool { return r.pid != 0 && r.state != 'Z' && r.state != 'X' }

func (r row) born() string { return strconv.FormatUint(r.start, 10) }

func readRow(pid int) (row, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return row{}, false
	}
	// The name of the program stands in parentheses and may hold anything, parentheses too.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return row{}, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 20 {
		return row{}, false
	}
	num := func(i int) int { n, _ := strconv.Atoi(string(f[i])); return n }
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	return row{pid: pid, state: f[0][0], ppid: num(1), pgrp: num(2), session: num(3), start: start}, err == nil
}

// bornAt is the start time of a process, "" if it is gone.
func bornAt(pid int) string {
	if r, ok := readRow(pid); ok && r.alive() {
		return r.born()
	}
	return ""
}

// nameOf is the command line of a process; in brackets its short name, where it has none.
func nameOf(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	if b, err := os.ReadFile(dir + "/cmdline"); err == nil && len(b) > 0 {
		return string(bytes.ReplaceAll(bytes.TrimRight(b, "\x00"), []byte{0}, []byte{' '}))
	}
	b, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return ""
	}
	return "[" + string(bytes.TrimSpace(b)) + "]"
}

// readTable lists all processes but this one and those it descends from: they are never ours to kill.
func readTable() []row {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	all := make(map[int]row, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if r, ok := readRow(pid); ok {
				all[pid] = r
			}
		}
	}
	for pid := os.Getpid(); pid > 0; {
		next := all[pid].ppid
		delete(all, pid)
		pid = next
	}
	rows := make([]row, 0, len(all))
	for _, r := range all {
		rows = append(rows, r)
	}
	return rows
}

// survivors lists the living processes of the program pid: of its session and group, those with the
// environment entry, those in known, and what descends from any of them. Nothing that is older than the
// program can be one.
func survivors(pid int, born, entry string, known []member) []member {
	since, _ := strconv.ParseUint(born, 10, 64)
	was := make(map[int]string, len(known))
	for _, m := range known {
		was[m.pid] = m.born
	}
	rows := readTable()
	ours := make(map[int]bool)
	for _, r := range rows {
		if r.start < since || !r.alive() {
			continue
		}
		ours[r.pid] = pid > 1 && (r.pgrp == pid || r.session == pid) || was[r.pid] == r.born() || hasEntry(r.pid, entry)
	}
	return closure(rows, ours)
}

// familyOf lists what descends from pid, itself included.
func familyOf(pid int) []member { return closure(readTable(), map[int]bool{pid: true}) }

func closure(rows []row, ours map[int]bool) []member {
	for grown := true; grown; {
		grown = false
		for _, r := range rows {
			if !ours[r.pid] && ours[r.ppid] && r.alive() {
				ours[r.pid], grown = true, true
			}
		}
	}
	var out []member
	for _, r := range rows {
		if ours[r.pid] && r.alive() {
			out = append(out, member{pid: r.pid, born: r.born()})
		}
	}
	return out
}

func hasEntry(pid int, entry string) bool {
	if entry == "" {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		if string(kv) == entry {
			return true
		}
	}
	return false
}
