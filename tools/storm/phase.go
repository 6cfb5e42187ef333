package main

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// phases lists the activities of a headless run at the time of a kill.
func phases() []string {
	return []string{"before the journal", "start", "resume", "checkout", "agent", "gate", "commit", "merge", "tidy",
		"after the end", "tournament"}
}

// teamPhases lists the activities of a run in team mode at the time of a kill; there may be several.
func teamPhases() []string {
	return []string{
		"before the journal", "start", "resume", "one agent", "agents side by side", "agent on unmerged work", "rebase",
		"gate", "gate on unmerged work",
		"tournament", "calling off", "commit", "merge", "tidy", "after the end",
	}
}

// phase returns what a headless run was doing when it was killed, according to the last event in the journal.
func (r *repository) phase(events []event) string {
	if len(events) == 0 {
		return phases()[0]
	}
	last := events[len(events)-1]
	since := last.At
	stage := ""
	for i := len(events) - 1; i >= 0 && stage == ""; i-- {
		switch e := events[i]; {
		case e.Kind == "run.finished":
			stage = "after the end"
		case e.Kind == "dispatched":
			stage = e.stage()
			last = e
		case e.Kind == "merged" && merges(events) == batches:
			stage = "tidy"
		}
	}
	switch stage {
	case "":
		return "start"
	case "sample", "judge":
		return "tournament"
	case "execute":
		// The brief is written once the workspace is ready.
		brief := filepath.Join(r.dir, ".runplan", "logs", r.run(), last.Batch+"-a1", "brief.md")
		if info, err := os.Stat(brief); err != nil || info.ModTime().Before(since.Truncate(time.Millisecond)) {
			return "checkout"
		}
		return "agent"
	}
	return stage
}

// callingOff is the assumed time until cancelled work has stopped: the journal does not record it.
const callingOff = 100 * time.Millisecond

// underWay lists the activities of a run in team mode at the time of its kill: commands without a result.
func underWay(events []event, killed time.Time) []string {
	if len(events) == 0 {
		return teamPhases()[:1]
	}
	if events[len(events)-1].Kind == "run.finished" {
		return []string{"after the end"}
	}
	open, called := map[string]event{}, false
	for _, e := range events {
		switch {
		case e.Kind == "dispatched":
			open[e.Command] = e
		case e.Kind == "withdrawn":
			delete(open, e.Command)
			called = called || killed.Sub(e.At) < callingOff
		case e.Command != "":
			delete(open, e.Command)
		}
	}
	is, agents := map[string]bool{"calling off": called}, 0
	for _, e := range open {
		switch stage := e.stage(); {
		case stage == "execute":
			agents++
			is["agent on unmerged work"] = is["agent on unmerged work"] || len(e.On) > 0
		case stage == "gate" && len(e.On) > 0:
			is["gate on unmerged work"] = true
		case stage == "sample", stage == "judge":
			is["tournament"] = true
		default:
			is[stage] = true
		}
	}
	is["one agent"], is["agents side by side"] = agents == 1, agents > 1
	is["tidy"] = merges(events) == batches
	out := slices.DeleteFunc(teamPhases(), func(p string) bool { return !is[p] })
	if len(out) == 0 {
		return []string{"start"}
	}
	return out
}

// merges counts the batches that the events have as merged.
func merges(events []event) int {
	n := 0
	for _, e := range events {
		if e.Kind == "merged" && e.Outcome == "ok" {
			n++
		}
	}
	return n
}
