package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// choice says when a session is killed: a part of the stage's usual time after its nth start in this session. Without
// a stage, it is not killed.
type choice struct {
	stage string
	nth   int
	part  float64
}

// stages lists the targets of kills. "start" is the beginning of the process, "ahead" a gate on unmerged work, "off"
// the end of cancelled work, "tidy" the time after the last merge.
func (r *repository) stages() []string {
	list := []string{"start", "execute", "execute", "gate", "commit", "merge", "tidy"}
	if r.workers > 0 {
		list = append(list, "execute", "rebase", "rebase", "ahead", "ahead", "off", "off")
	}
	if r.sample {
		list = append(list, "sample", "judge")
	}
	return list
}

func (s *storm) choose(r *repository) choice {
	stages := r.stages()
	c := choice{stage: stages[s.rnd.IntN(len(stages))], nth: 1 + s.rnd.IntN(3), part: 1.2 * s.rnd.Float64()}
	if c.stage == "tidy" && r.merged() < batches && s.rnd.IntN(4) > 0 {
		c.stage = "merge" // otherwise most of a run would pass without a kill
	}
	if c.stage == "off" {
		c.nth = 1 // it is rare
	}
	return c
}

// end describes how a session ended.
type end struct {
	killed bool
	early  bool // before this session wrote anything
	code   int
	stderr string
	after  time.Duration
	at     time.Time // of the kill
}

// event holds the fields of an event that the storm reads.
type event struct {
	Seq     int       `json:"seq"`
	Kind    string    `json:"kind"`
	Command string    `json:"command"`
	Batch   string    `json:"batch"`
	Outcome string    `json:"outcome"`
	At      time.Time `json:"at"`
	On      []string  `json:"on"`

	Commit, Tree, Base, Receipt, Fingerprint string
}

// stage returns the last part of a command id: "3/r1-c1/gate" is a gate.
func (e event) stage() string { return e.Command[strings.LastIndexByte(e.Command, '/')+1:] }

// session starts the run or resumes it, and kills it as chosen.
func (s *storm) session(r *repository, c choice) (end, error) {
	args := []string{"resume", "--json"}
	if r.run() == "" {
		args = r.command()
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
	seen, killed, at := false, false, time.Time{}
	watch := &watch{storm: s, open: map[string]time.Time{"start": began}, merged: r.merged()}
	for events != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				break
			}
			seen = true
			if c.stage != "" && slices.Contains(watch.learn(e), c.stage) {
				if c.nth--; c.nth == 0 || c.stage == "tidy" {
					light()
					c.stage = ""
				}
			}
		case <-fuse:
			killed, at = cmd.Process.Kill() == nil, time.Now()
			fuse = nil
		}
	}
	err = cmd.Wait()
	out := end{after: time.Since(began), at: at, code: cmd.ProcessState.ExitCode(), stderr: tail(errOut.String())}
	out.killed, out.early = killed && out.code == -1, !seen
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out, err
	}
	return out, nil
}

// watch follows the events of a session.
type watch struct {
	*storm
	open   map[string]time.Time // what is in progress, by the id of its command
	merged int
}

// learn records how long stages take, and returns the stages that begin with e.
func (w *watch) learn(e event) (begins []string) {
	id, stage := e.Command, e.stage()
	switch e.Kind {
	case "run.started", "run.resumed":
		id, stage = "start", "start"
	case "run.finished":
		id, stage = "tidy", "tidy"
	}
	if at, ok := w.open[id]; ok && e.Kind != "withdrawn" {
		d := time.Since(at)
		if old, ok := w.typical[stage]; ok {
			d = (3*old + d) / 4
		}
		w.typical[stage] = d
	}
	delete(w.open, id)
	if e.Kind == "merged" && e.Outcome == "ok" {
		w.merged++
	}
	switch {
	case e.Kind == "dispatched":
		w.open[id] = time.Now()
		begins = append(begins, stage)
		if stage == "gate" && len(e.On) > 0 {
			begins = append(begins, "ahead")
		}
	case e.Kind == "withdrawn":
		begins = append(begins, "off")
	case w.merged == batches && (e.Kind == "merged" || e.Kind == "run.resumed"):
		w.open["tidy"] = time.Now()
		begins = append(begins, "tidy")
	}
	return begins
}

// usual returns the usual duration of a stage, if known.
func (s *storm) usual(stage string) time.Duration {
	if stage == "ahead" {
		stage = "gate"
	}
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
