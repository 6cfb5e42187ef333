package servertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// detaching returns a stage whose setup and agent each leave a process in its own session. The setup's process ends
// with the setup. Both processes run sleep with the returned argument.
func detaching(t *testing.T) (s *stage, sleeper string) {
	t.Helper()
	s = newStage(t)
	s.slowAgent("20")
	sleeper = fmt.Sprintf("3%07d", s.port) // seconds: nobody else sleeps for as long
	// until it leads a session, the process belongs to the program that started it
	leave := "setsid sleep " + sleeper + " >/dev/null 2>&1 </dev/null &\n" +
		"until [ \"$(cut -d' ' -f6 /proc/$!/stat)\" = $! ]; do sleep 0.01; done\n"
	config, err := os.ReadFile(filepath.Join(s.project, ".runplan/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(".runplan/config.toml", string(config)+"\n[workspace]\nsetup = \"sh "+filepath.Join(s.dir, "setup.sh")+"\"\n")
	agent, err := os.ReadFile(filepath.Join(s.dir, "agent.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"setup.sh": leave, "agent.sh": leave + string(agent)} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write("plan.md", stormPlan(1))
	s.commit()
	s.serve()
	s.worker("w1")
	t.Cleanup(func() {
		for _, pid := range running("sleep", sleeper) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return s, sleeper
}

// running lists the processes with these arguments.
func running(args ...string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if string(bytes.TrimRight(line, "\x00")) == strings.Join(args, "\x00") && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// reapers lists the reaper processes of a worker, which watch what it starts.
func reapers(worker int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(worker) &&
			strings.HasPrefix(string(line), runplan+"\x00__reap") {
			pid, _ := strconv.Atoi(e.Name())
			pids = append(pids, pid)
		}
	}
	return pids
}

// No process that a worker started outlives it for long: if the worker is killed, if its reapers are killed too and
// another worker takes its folder, if the worker is asked to exit, or if its run is cancelled.
func TestProcessesEndWithWorker(t *testing.T) {
	for what, end := range map[string]func(t *testing.T, s *stage, run *process){
		"a worker is killed": func(t *testing.T, s *stage, _ *process) {
			s.workers["w1"].kill()
		},
		"all of a worker is killed and it is started again": func(t *testing.T, s *stage, _ *process) {
			w := s.workers["w1"].Process
			if err := w.Signal(syscall.SIGSTOP); err != nil { // or it would start again what it has lost
				t.Fatal(err)
			}
			for _, pid := range reapers(w.Pid) {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			s.workers["w1"].kill()
			before := s.agentOf("w1")                                 // 0 where a keeper has ended it already
			s.worker("w1-again", "--dir", filepath.Join(s.dir, "w1")) // ends what the keepers have not ended
			if before != 0 && alive(before) {
				t.Error("the agent is alive")
			}
		},
		"a worker is asked to end": func(t *testing.T, s *stage, _ *process) {
			if err := s.workers["w1"].Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := s.workers["w1"].code(t, time.Minute); code != 0 {
				t.Errorf("exit status %d", code)
			}
		},
		"the run is cancelled": func(t *testing.T, s *stage, run *process) {
			if err := run.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(strings.ReplaceAll(what, " ", "-"), func(t *testing.T) {
			s, sleeper := detaching(t)
			run := s.run()
			s.await(time.Minute, "the agent left its process",
				func() bool { return len(running("sleep", sleeper)) > 0 && s.agentOf("w1") > 0 })
			old := map[int]bool{}
			for _, pid := range running("sleep", sleeper) {
				old[pid] = true
			}
			end(t, s, run)
			s.await(2*heartbeat, "what they left is dead", func() bool {
				for _, pid := range running("sleep", sleeper) {
					if old[pid] {
						return false
					}
				}
				return true
			})
		})
	}
}

// A folder belongs to one worker, because two workers would change each other's clones.
func TestSecondWorkerCannotTakeFolder(t *testing.T) {
	s := newStage(t)
	s.write("README.md", "x")
	s.commit()
	s.serve()
	s.worker("w1")
	out, code := s.call("worker", "--address", s.address(), "--remote", s.remote(), "--dir", filepath.Join(s.dir, "w1"))
	if code != 6 || !strings.Contains(out, "its own --dir") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}
