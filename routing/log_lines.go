package routing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// LogLines describes the decision for the log (ROUTE-11): the mode with its reasons, the batches that may run
// concurrently, the model of each batch, and the speculative starts.
func (d Decision) LogLines(r Rules) []Line {
	var lines []Line
	add := func(kind Kind, format string, args ...any) {
		lines = append(lines, Line{Kind: kind, Text: oneLine(fmt.Sprintf(format, args...))})
	}
	add(LogMode, "%s (score=%d, threshold=%d, workers=%d)", d.Mode, d.Score.Value, r.ParallelScoreThreshold, d.Workers)
	for _, reason := range d.Reasons {
		add(LogMode, "%s -- %s", d.Mode, reason)
	}
	if d.Memory.Note != "" {
		add(LogMode, "%s -- memory: %s", d.Mode, d.Memory.Note)
	}
	if d.Workers > 1 {
		for _, group := range d.Groups {
			if group = d.run(group); len(group) > 1 {
				add(LogParallel, "%s -- %s, %s", strings.Join(names(group), ","), d.shared(group), d.parents(group))
			}
		}
	}
	for _, s := range d.Steps {
		if s.Skip != "" || s.Label == "" {
			continue
		}
		label := s.Label
		if s.Model != "" && s.Model != s.Label {
			label += " (" + s.Model + ")"
		}
		add(LogModel, "%s-->%s -- %s: %s, confidence=%d%%", name(s.Batch), label, s.Class, s.Why, s.Confidence)
	}
	for _, s := range d.Speculation {
		add(LogSpeculate, "%s", s)
	}
	return lines
}

// String returns "B2 starts while B1's gates run -- overlap 0%".
func (s Speculation) String() string {
	if s.Starts {
		return fmt.Sprintf("%s starts while %s's gates run -- overlap %s", name(s.Batch), name(s.On), percent(s.Overlap))
	}
	return fmt.Sprintf("%s waits for %s's gates -- overlap %s", name(s.Batch), name(s.On), percent(s.Overlap))
}

// SpeedUpText compares the predicted with the real speed-up (ROUTE-17). It is logged as [LogMode] after a team
// run.
func SpeedUpText(predicted, real float64) string {
	if predicted <= 0 || real <= 0 {
		return fmt.Sprintf("speed-up real=%s, predicted=%s", times(real), times(predicted))
	}
	return fmt.Sprintf("speed-up real=%s, predicted=%s, off by %.0f%%", times(real), times(predicted),
		math.Abs(real-predicted)/predicted*100)
}

func times(f float64) string {
	if f <= 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", f)
}

// name returns the display name of a batch: B3. A key that begins with a letter stays unchanged.
func name(key string) string {
	if key != "" && key[0] >= '0' && key[0] <= '9' {
		return "B" + key
	}
	return key
}

func names(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = name(k)
	}
	return out
}

// percent formats a rounded percentage; small positive values are "<1%".
func percent(f float64) string {
	if f > 0 && f < 1 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", f)
}

// run removes skipped batches.
func (d Decision) run(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return slices.ContainsFunc(d.Steps, func(s Step) bool { return s.Batch == key && s.Skip != "" })
	})
}

// shared describes the file overlap of a group.
func (d Decision) shared(group []string) string {
	most, seen := 0.0, 0
	for _, p := range d.Pairs {
		if slices.Contains(group, p.A) && slices.Contains(group, p.B) {
			most = max(most, p.Overlap)
			seen++
		}
	}
	switch {
	case seen == 0:
		return "overlap unknown"
	case most == 0:
		return "overlap=0 files"
	}
	return "overlap at most " + percent(most)
}

// parents describes the needs of the batches of a group.
func (d Decision) parents(group []string) string {
	all := "both"
	if len(group) > 2 {
		all = "all"
	}
	of := make([]string, len(group))
	for i, key := range group {
		var needs []string
		if k := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Batch == key }); k >= 0 {
			needs = names(d.run(d.Steps[k].Needs))
		}
		of[i] = strings.Join(needs, ",")
	}
	if len(slices.Compact(slices.Clone(of))) == 1 {
		if of[0] == "" {
			return all + " depend on nothing"
		}
		return all + " depend only on " + of[0]
	}
	var parts []string
	for i, key := range group {
		of[i] = cmp.Or(of[i], "nothing")
		parts = append(parts, name(key)+" depends on "+of[i])
	}
	return strings.Join(parts, ", ")
}
