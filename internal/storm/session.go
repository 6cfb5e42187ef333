package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// choice says when a session is killed: a part of the stage's usual time after it began for the nth time in
// this session. No stage means not at all.
type choice struct {
	stage string
	nth   int
	part  float64
}

// stages are what kills are aimed at. "start" is the beginning of the process, "tidy" what comes after the
// last merge.
func stages() []string {
	return []string{"start", "execute", "execute", "gate", "commit", "merge", "tidy"}
}

func (s *storm) choose(r *repository) choice {
	c := choice{stage: stages()[s.rnd.IntN(len(stages()))], nth: 1 + s.rnd.IntN(3), part: 1.2 * s.rnd.Float64()}
	if c.stage == "tidy" && r.merged() < batches && s.rnd.IntN(4) > 0 {
		c.stage = "merge" // else most of a run would pass without a kill
	}
	return c
}

// end is how a session ended.
type end struct {
	killed bool
	early  bool // before this session wrote anything
	code   int
	stderr string
	after  time.Duration
}

// event is what the storm reads of an event.
type event struct {
	Kind    string    `json:"kind"`
	Command string    `json:"command"`
	Batch   string    `json:"batch"`
	Outcome string    `json:"outcome"`
	At      time.Time `json:"at"`

	Commit, Tree, Base, Receipt, Fingerprint string
}

// stage is the last part of a command id: "3/r1-c1/gate" is a gate.
func (e event) stage() string { return e.Command[strings.LastIndexByte(e.Command, '/')+1:] }

// session starts the run or resumes it, and kills it as chosen.
func (s *storm) session(r *repository, c choice) (end, error) {
	args := []string{"resume", "--json"}
	if r.run() == "" {
		args = []string{"run", "plan.md", "--json"}
	}
	cmd := s.place.Command(r.dir, s.place.Runplan, args...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return end{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return end{}, err
	}
	events := make(chan event, 1000)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				events <- e
			}
		}
	}()
	fuse := make(chan time.Time)
	light := func() {
		wait := time.Duration(c.part * float64(s.usual(c.stage)))
		time.AfterFunc(wait, func() { fuse <- time.Now() })
	}
	if c.stage == "start" {
		light()
	}
	seen, killed, open, allMerged := false, false, map[string]time.Time{"start": began}, r.merged() == batches
	for events != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				break
			}
			seen = true
			began := s.learn(e, open, &allMerged)
			if began == c.stage && c.stage != "" {
				if c.nth--; c.nth == 0 || c.stage == "tidy" {
					light()
					c.stage = ""
				}
			}
		case <-fuse:
			killed = cmd.Process.Kill() == nil
			fuse = nil
		}
	}
	err = cmd.Wait()
	out := end{after: time.Since(began), code: cmd.ProcessState.ExitCode(), stderr: tail(errOut.String())}
	out.killed, out.early = killed && out.code == -1, !seen
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out, err
	}
	return out, nil
}

// learn keeps how long stages take, and returns the stage that begins with e.
func (s *storm) learn(e event, open map[string]time.Time, allMerged *bool) string {
	ended := map[string]string{
		"run.started": "start", "run.resumed": "start", "executed": "execute", "gated": "gate", "committed": "commit", "merged": "merge", "run.finished": "tidy",
	}[e.Kind]
	if at, ok := open[ended]; ok && ended != "" {
		d := time.Since(at)
		if old, ok := s.typical[ended]; ok {
			d = (3*old + d) / 4
		}
		s.typical[ended] = d
		delete(open, ended)
	}
	begins := ""
	switch {
	case e.Kind == "dispatched":
		begins = e.stage()
	case e.Kind == "merged" && e.Batch == lastBatch, e.Kind == "run.resumed" && *allMerged:
		begins = "tidy"
	}
	if begins != "" {
		open[begins] = time.Now()
	}
	return begins
}

// usual is how long a stage takes, as far as it is known.
func (s *storm) usual(stage string) time.Duration {
	if d, ok := s.typical[stage]; ok {
		return d
	}
	return 100 * time.Millisecond
}

func tail(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 400 {
		s = "…" + s[len(s)-400:]
	}
	return strings.ReplaceAll(s, "\n", " | ")
}
