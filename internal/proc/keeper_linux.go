package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A keeper is a process of runplan that starts one program at a time and adopts what that program leaves behind. It is
// a child subreaper (prctl(2)): a process below it cannot escape by double forking, a new session or an empty
// environment. If a keeper has no children, no process of its program is alive; one system call tells that. Then it is
// reused, so its start is paid for once per parallel program.
//
// The keepers are children of the reaper, which is a subreaper as well. If a keeper is killed, its processes become
// children of the reaper, which kills them. A keeper whose connection closes, because runplan has ended, kills all its
// processes and exits.
type keeper struct {
	id     string
	pid    int
	group  string // its cgroup, "" without one
	conn   *net.UnixConn
	gone   chan struct{} // closed when its connection is
	mu     sync.Mutex
	guest  *guest        // the program under it
	answer chan []string // to "run"
}

// guest is a program under a keeper.
type guest struct {
	ended  chan struct{} // closed when the program itself has ended
	clean  chan struct{} // closed when none of its processes is alive
	status syscall.WaitStatus
}

type keepers struct {
	mu      sync.Mutex
	last    int
	idle    []*keeper
	coming  int       // keepers that [Reaper.Hire] starts now
	wanted  int       // programs that wait for one of them
	arrived sync.Cond // signals that coming fell
	all     map[string]*keeper
	waiting map[string]chan []string // channels for answers of the reaper, by question
	gone    chan struct{}            // closed when the connection to the reaper is
}

// startTime limits the wait for an answer of the reaper and its keepers; it allows for a very busy machine.
const startTime = 30 * time.Second

// open starts to listen to the reaper, and has it start the first keeper, which most runs need soon.
func (r *Reaper) open() {
	ks := &r.keepers
	ks.all, ks.waiting, ks.gone = map[string]*keeper{}, map[string]chan []string{}, make(chan struct{})
	ks.arrived.L = &ks.mu
	conn := r.link.(*net.UnixConn)
	go func() {
		defer close(ks.gone)
		for w := newWire(conn, nil); ; {
			verb, args, err := w.next()
			if err != nil {
				r.mu.Lock()
				r.lost.Store(!r.closing)
				r.mu.Unlock()
				return
			}
			if len(args) == 0 {
				continue
			}
			ks.mu.Lock()
			c := ks.waiting[verb+args[0]]
			delete(ks.waiting, verb+args[0])
			ks.mu.Unlock()
			if c != nil {
				c <- args[1:]
			}
		}
	}()
	r.Hire(1)
}

// Hire starts n keepers in the background, for programs that will soon run at the same time.
func (r *Reaper) Hire(n int) {
	if !r.keeps() {
		return
	}
	ks := &r.keepers
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for range n {
		ks.coming++
		go func() {
			k, err := r.hire()
			ks.mu.Lock()
			defer ks.mu.Unlock()
			if err == nil {
				ks.idle = append(ks.idle, k)
			}
			ks.coming--
			ks.arrived.Broadcast()
		}()
	}
}

func (r *Reaper) shut() {
	ks := &r.keepers
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for _, k := range ks.all {
		_ = k.conn.Close()
	}
	ks.idle = nil
}

// expect registers for the answer verb about id. The caller sends the question after that.
func (r *Reaper) expect(verb, id string) <-chan []string {
	c := make(chan []string, 1)
	r.keepers.mu.Lock()
	r.keepers.waiting[verb+id] = c
	r.keepers.mu.Unlock()
	return c
}

// await waits for an answer of the reaper.
func (r *Reaper) await(c <-chan []string, limit time.Duration) ([]string, error) {
	select {
	case args := <-c:
		return args, nil
	case <-r.keepers.gone:
		return nil, ErrReaperLost
	case <-time.After(limit):
		return nil, fmt.Errorf("the reaper process of runplan has not answered for %v", limit)
	}
}

// keeper returns an idle keeper.
func (r *Reaper) keeper() (*keeper, error) {
	if r.lost.Load() {
		return nil, ErrReaperLost
	}
	ks := &r.keepers
	ks.mu.Lock()
	for len(ks.idle) > 0 || ks.coming > ks.wanted {
		n := len(ks.idle)
		if n == 0 {
			ks.wanted++
			ks.arrived.Wait()
			ks.wanted--
			continue
		}
		k := ks.idle[n-1]
		ks.idle = ks.idle[:n-1]
		select {
		case <-k.gone: // it was killed from outside
		default:
			ks.mu.Unlock()
			return k, nil
		}
	}
	ks.mu.Unlock()
	return r.hire()
}

// hire has the reaper start another keeper.
func (r *Reaper) hire() (*keeper, error) {
	near, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	ks := &r.keepers
	ks.mu.Lock()
	ks.last++
	id := strconv.Itoa(ks.last)
	ks.mu.Unlock()
	answer := r.expect("kept", id)
	r.mu.Lock()
	if r.closing {
		err = os.ErrClosed
	} else {
		err = sendFiles(r.link.(*net.UnixConn), encodeLine("keeper", id), []*os.File{far})
	}
	r.mu.Unlock()
	if err != nil {
		_ = near.Close()
		if r.lost.Load() || errors.Is(err, syscall.EPIPE) {
			err = ErrReaperLost
		}
		return nil, err
	}
	args, err := r.await(answer, startTime)
	if err == nil && (len(args) != 3 || args[2] != "") {
		err = fmt.Errorf("start a keeper process for a program: %s", args[len(args)-1])
	}
	if err != nil {
		_ = near.Close()
		return nil, err
	}
	k := &keeper{id: id, group: args[1], conn: near, gone: make(chan struct{}), answer: make(chan []string, 1)}
	k.pid, _ = strconv.Atoi(args[0])
	ks.mu.Lock()
	ks.all[id] = k
	ks.mu.Unlock()
	go k.listen()
	return k, nil
}

// release returns a keeper without living processes to the pool.
func (r *Reaper) release(k *keeper) {
	ks := &r.keepers
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.idle = append(ks.idle, k)
}

// dismiss disconnects a keeper that must not be reused. The keeper continues to kill its processes.
func (r *Reaper) dismiss(k *keeper) {
	_ = k.conn.Close()
	r.keepers.mu.Lock()
	defer r.keepers.mu.Unlock()
	delete(r.keepers.all, k.id)
}

// settle has the reaper kill the processes of a dead keeper, and returns their number.
func (r *Reaper) settle(k *keeper) (int, error) {
	answer := r.expect("settled", k.id)
	r.send("settle", k.id)
	args, err := r.await(answer, 2*endTime)
	if err != nil {
		return 0, err
	}
	if len(args) != 2 || args[1] != "" {
		return 0, fmt.Errorf("these processes could not be killed: %s", args[len(args)-1])
	}
	return strconv.Atoi(args[0])
}

// listen reads the messages of a keeper until its connection closes.
func (k *keeper) listen() {
	for w := newWire(k.conn, nil); ; {
		verb, args, err := w.next()
		k.mu.Lock()
		g := k.guest
		if err != nil {
			k.guest = nil
			k.mu.Unlock()
			close(k.gone)
			if g != nil && !isClosed(g.ended) { // as far as known
				g.status = syscall.WaitStatus(syscall.SIGKILL)
				close(g.ended)
			}
			return
		}
		k.mu.Unlock()
		switch {
		case verb == "started" || verb == "failed":
			k.answer <- args
		case g == nil:
		case verb == "ended" && len(args) == 1:
			n, _ := strconv.Atoi(args[0])
			g.status = syscall.WaitStatus(n)
			close(g.ended)
		case verb == "clean":
			close(g.clean)
		}
	}
}

// errKeeperLost reports that another process killed a keeper before it could start a program.
var errKeeperLost = errors.New("its keeper process was killed by another process")

// run starts a program. files are its standard input, output and error. It returns process id and start time.
func (k *keeper) run(path string, c Cmd, files []*os.File) (started []string, g *guest, err error) {
	env := (&exec.Cmd{Env: c.Env, Dir: c.Dir}).Environ() // of two entries for one name the last counts
	g = &guest{ended: make(chan struct{}), clean: make(chan struct{})}
	k.mu.Lock()
	k.guest = g
	k.mu.Unlock()
	args := append([]string{k.group, path, c.Dir, strconv.Itoa(len(c.Args))}, c.Args...)
	if err := sendFiles(k.conn, encodeLine("run", append(args, env...)...), files); err != nil {
		return nil, nil, errKeeperLost
	}
	var answer []string
	select {
	case answer = <-k.answer:
	case <-k.gone:
		return nil, nil, errKeeperLost
	}
	if len(answer) == 2 {
		return answer, g, nil
	}
	n, _ := strconv.Atoi(answer[0])
	return nil, nil, &os.PathError{Op: "fork/exec", Path: path, Err: syscall.Errno(n)}
}
