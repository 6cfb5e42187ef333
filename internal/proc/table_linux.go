package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// row holds fields of /proc/PID/stat.
type row struct {
	pid, ppid, pgrp, session int
	state                    byte
	start                    uint64 // clock ticks since boot
	memory                   bool   // false for a kernel thread
	program                  program
}

// program holds the addresses of a process that the kernel sets in exec.
type program struct{ codeEnd, envStart, envEnd uint64 }

// ready reports whether exec is done: the kernel sets the end of the code last.
func (p program) ready() bool { return p.codeEnd > 0 }

func (r row) alive() bool { return r.pid != 0 && r.state != 'Z' && r.state != 'X' }

func (r row) born() string { return strconv.FormatUint(r.start, 10) }

func readRow(pid int) (row, bool) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return row{}, false
	}
	// There may be hundreds of processes, so this makes few system calls.
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(fd, buf[:])
	}
	_ = unix.Close(fd)
	if err != nil || n <= 0 {
		return row{}, false
	}
	return parseRow(pid, buf[:n])
}

// parseRow reads the fields that matter. The program's name is in parentheses and may contain anything, even
// parentheses.
func parseRow(pid int, b []byte) (row, bool) {
	rest := b[bytes.LastIndexByte(b, ')')+1:]
	if len(rest) == len(b) {
		return row{}, false
	}
	r := row{pid: pid}
	var err error
	field := 0
	for f := range bytes.FieldsSeq(rest) {
		switch field {
		case 0:
			r.state = f[0]
		case 1:
			r.ppid = number(f)
		case 2:
			r.pgrp = number(f)
		case 3:
			r.session = number(f)
		case 19:
			if r.start, err = strconv.ParseUint(string(f), 10, 64); err != nil {
				return row{}, false
			}
		case 20:
			r.memory = number(f) > 0
		case 24:
			r.program.codeEnd = address(f)
		case 47:
			r.program.envStart = address(f)
		case 48:
			r.program.envEnd = address(f)
		}
		field++
	}
	return r, field > 20
}

func address(b []byte) uint64 { n, _ := strconv.ParseUint(string(b), 10, 64); return n }

func number(b []byte) int { n, _ := strconv.Atoi(string(b)); return n }

// bornAt returns the start time of a process, "" if it has ended.
func bornAt(pid int) string {
	if r, ok := readRow(pid); ok && r.alive() {
		return r.born()
	}
	return ""
}

// nameOf returns the command line of a process, or its short name in brackets if it has none.
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

// readTable lists all processes except this one and its ancestors, which must never be killed.
func readTable() []row {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	rows := make([]row, 0, len(names))
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			if r, ok := readRow(pid); ok {
				rows = append(rows, r)
			}
		}
	}
	above := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !above[pid]; {
		above[pid] = true
		i := slices.IndexFunc(rows, func(r row) bool { return r.pid == pid })
		if i < 0 {
			break
		}
		pid = rows[i].ppid
	}
	return slices.DeleteFunc(rows, func(r row) bool { return above[r.pid] })
}

// survivors lists the living processes of the program pid: its session and group, processes with the environment entry,
// those in known, and all descendants of these. A process older than the program cannot be one.
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
		ours[r.pid] = pid > 1 && (r.pgrp == pid || r.session == pid) || was[r.pid] == r.born() || hasEntry(r, entry)
	}
	return closure(rows, ours)
}

// mostNew limits the process ids that nobodyNew checks; beyond it, listing all processes costs no more.
const mostNew = 400

// nobodyNew reports whether it is certain that survivors would find no process of the program pid. It checks the few
// processes that started since then: their ids follow the program's, unless the system has wrapped around.
func nobodyNew(pid int, entry string) bool {
	data, err := os.ReadFile("/proc/loadavg") // its last field is the last assigned id
	f := bytes.Fields(data)
	if err != nil || len(f) < 5 {
		return false
	}
	last := number(f[len(f)-1])
	if last < pid || last-pid > mostNew {
		return false
	}
	for id := pid; id <= last; id++ {
		if r, ok := readRow(id); ok && r.alive() && (r.pgrp == pid || r.session == pid || hasEntry(r, entry)) {
			return false
		}
	}
	return true
}

// below lists the descendants of pid, without pid itself, and without the children in spare and their descendants.
func below(pid int, spare map[int]bool) []member {
	rows := readTable()
	ours := map[int]bool{}
	for _, r := range rows {
		ours[r.pid] = r.ppid == pid && !spare[r.pid] && r.alive()
	}
	return closure(rows, ours)
}

// familyOf lists pid and its descendants.
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

// execTime limits the wait for a process to finish its exec. It takes less than a millisecond where the CPU is free.
const execTime = time.Second

// hasEntry reports whether the process was started with the environment entry KEY=VALUE. In the middle of exec a process
// shows no environment or a part of it, so hasEntry reads again until the environment is whole.
func hasEntry(r row, entry string) bool {
	if entry == "" {
		return false
	}
	for end := time.Now().Add(execTime); r.memory; time.Sleep(time.Millisecond) {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(r.pid) + "/environ")
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if string(kv) == entry {
				return true
			}
		}
		now, ok := readRow(r.pid)
		whole := now.program == r.program && r.program.ready() && uint64(len(env)) == r.program.envEnd-r.program.envStart
		if err != nil || !ok || whole || time.Now().After(end) {
			return false
		}
		r = now
	}
	return false
}

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

// oneKernel lists the file systems whose files only processes of this kernel can open. Files of other file systems,
// such as network ones, may be open on another machine.
var oneKernel = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	unix.F2FS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC,
}

// Opened reports whether another process has the file at path open; known is false if that is uncertain. It asks the
// kernel for a lease, which the kernel refuses while the file is open. So it also sees processes of other users and in
// other containers.
func Opened(path string) (open, known bool) {
	f, err := os.OpenFile(path, unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, false
	}
	defer f.Close() // which gives the lease back
	var on unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &on); err != nil || !slices.Contains(oneKernel, int64(uint32(on.Type))) {
		return false, false
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, true
	}
	var is, at unix.Stat_t
	if err != nil || unix.Fstat(int(f.Fd()), &is) != nil || unix.Lstat(path, &at) != nil {
		return false, false
	}
	return false, is.Dev == at.Dev && is.Ino == at.Ino // otherwise another file replaced it
}
