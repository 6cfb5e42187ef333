package proc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// minder implements the reaper for its keepers, and a keeper for its program. Both are subreapers.
type minder struct {
	w    *wire
	born chan struct{} // signals that a child exists again

	mu        sync.Mutex // also locked while a child starts
	begun     bool
	childless bool          // according to the kernel, and no child was started since
	keepers   map[int]*ward // living keepers by process id; empty in a keeper
	ids       map[string]*ward
	cgroups   *cgroups
	guest     int // the program of this keeper; 0 is none, 1 a program that has ended with remaining processes
	status    *syscall.WaitStatus
}

// ward holds what the reaper knows about a keeper.
type ward struct {
	pid    int
	cgroup string
}

func newMinder(w *wire) *minder {
	return &minder{w: w, born: make(chan struct{}, 1), childless: true, keepers: map[int]*ward{}, ids: map[string]*ward{}}
}

// do executes the command of a line.
func (m *minder) do(verb string, args []string) {
	switch {
	case verb == "keeper" && len(args) == 1:
		m.keeper(args[0])
	case verb == "settle" && len(args) == 1:
		m.settle(args[0])
	case verb == "run" && len(args) >= 4:
		m.run(args)
	}
}

// begin makes this process the parent of all orphans below it.
func (m *minder) begin() error {
	if m.begun {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	m.begun = true
	_ = os.WriteFile("/proc/self/comm", []byte("keeper"), 0) // "pkill runplan" is meant for runplan; this process ends after it
	go m.collect()
	return nil
}

// collect waits for children, including adopted ones, and notes when there are none.
func (m *minder) collect() {
	for {
		m.mu.Lock()
		none := m.bury()
		m.mu.Unlock()
		if none {
			<-m.born
		}
		var info unix.Siginfo
		for errors.Is(unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}
}

// bury reaps the children that have ended and reports whether no others exist. The answer is certain because no child
// starts meanwhile.
func (m *minder) bury() bool {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err == nil && pid > 0:
			if pid == m.guest {
				m.status = &ws
			}
			delete(m.keepers, pid)
			continue
		}
		m.childless = err != nil
		if m.guest != 0 && m.childless {
			_ = m.w.send("clean")
		}
		if m.status != nil {
			_ = m.w.send("ended", strconv.Itoa(int(*m.status)))
			m.status, m.guest = nil, 1
		}
		if m.childless {
			m.guest = 0
		}
		return m.childless
	}
}

// started records a new child. The caller holds the lock.
func (m *minder) started() {
	m.childless = false
	select {
	case m.born <- struct{}{}:
	default:
	}
}

// keeper starts a keeper, which is another process of this program.
func (m *minder) keeper(id string) {
	pid, cgroup, err := m.startKeeper(id)
	said := ""
	if err != nil {
		said = err.Error()
	}
	_ = m.w.send("kept", id, strconv.Itoa(pid), cgroup, said)
}

func (m *minder) startKeeper(id string) (pid int, cgroup string, err error) {
	files, err := m.w.take(1)
	if err != nil {
		return 0, "", err
	}
	defer closeFiles(files)
	none, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, "", err
	}
	defer none.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(); err != nil {
		return 0, "", err
	}
	if m.cgroups == nil {
		m.cgroups = findCgroups()
	}
	cgroup = m.cgroups.create(id)
	pid, err = syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{files[0].Fd(), none.Fd(), none.Fd()}, Sys: detached(),
	})
	if err != nil {
		removeCgroup(cgroup)
		return 0, "", err
	}
	k := &ward{pid, cgroup}
	m.keepers[pid], m.ids[id] = k, k
	m.started()
	return pid, cgroup, nil
}

// settle kills the processes of a dead keeper.
func (m *minder) settle(id string) {
	m.mu.Lock()
	k := m.ids[id]
	delete(m.ids, id)
	m.mu.Unlock()
	if k == nil {
		_ = m.w.send("settled", id, "0", "")
		return
	}
	seen, clean := map[int]bool{}, 0
	var left []member
	// A process that is adopted while the table is read may be missing from it, so it is read again.
	for end := time.Now().Add(endTime); clean < 3 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		m.mu.Lock()
		_, alive := m.keepers[k.pid]
		if alive {
			_ = syscall.Kill(k.pid, syscall.SIGKILL) // its connection is closed, and its processes are killed here
		}
		left = below(os.Getpid(), m.spared())
		killMembers(left)
		m.mu.Unlock()
		for _, l := range left {
			seen[l.pid] = true
		}
		if clean++; alive || len(left) > 0 {
			clean = 0
		}
	}
	killCgroup(k.cgroup)
	removeCgroup(k.cgroup)
	_ = m.w.send("settled", id, strconv.Itoa(len(seen)), strings.Join(namesOf(left, nil), "; "))
}

func (m *minder) spared() map[int]bool {
	out := map[int]bool{}
	for pid := range m.keepers {
		out[pid] = true
	}
	return out
}

// run starts the program of this keeper.
func (m *minder) run(args []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pid, err := m.startGuest(args)
	var number syscall.Errno
	switch {
	case err == nil:
		m.guest = pid
		_ = m.w.send("started", strconv.Itoa(pid), bornAt(pid))
		m.started()
	case errors.As(err, &number):
		_ = m.w.send("failed", strconv.Itoa(int(number)))
	default:
		_ = m.w.send("failed", strconv.Itoa(int(syscall.EINVAL)))
	}
}

func (m *minder) startGuest(args []string) (int, error) {
	files, err := m.w.take(mostFiles)
	if err != nil {
		return 0, err
	}
	defer closeFiles(files)
	if err := m.begin(); err != nil {
		return 0, err
	}
	cgroup, path, dir, rest := args[0], args[1], args[2], args[4:]
	m.ids[""] = &ward{cgroup: cgroup} // of this keeper
	n, err := strconv.Atoi(args[3])
	if err != nil || n < 1 || n > len(rest) {
		return 0, syscall.EINVAL
	}
	attr := &syscall.ProcAttr{Dir: dir, Env: rest[n:], Sys: detached()}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	if cgroup != "" {
		if fd, err := unix.Open(cgroup, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			defer unix.Close(fd)
			inside := *attr
			inside.Sys = detached()
			inside.Sys.UseCgroupFD, inside.Sys.CgroupFD = true, fd
			if pid, err := syscall.ForkExec(path, rest[:n], &inside); err == nil {
				return pid, nil
			}
		}
	}
	return syscall.ForkExec(path, rest[:n], attr)
}

// end kills all remaining processes and returns when they have ended.
func (m *minder) end() {
	round := 0
	for end := time.Now().Add(endTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		m.mu.Lock()
		none, spare := m.childless, m.spared()
		m.mu.Unlock()
		if none {
			break
		}
		if time.Until(end) < endTime/2 {
			spare = nil // a keeper ends by itself, and earlier
		}
		killMembers(below(os.Getpid(), spare))
		if round++; round < patience {
			continue
		}
		for _, k := range m.ids {
			killCgroup(k.cgroup)
		}
	}
	for _, k := range m.ids {
		killCgroup(k.cgroup) // of a keeper that was killed together with others
	}
	for _, k := range m.ids {
		removeCgroup(k.cgroup)
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
