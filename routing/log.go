package routing

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Kind is the subject of a line of the decision log (ROUTE-10).
type Kind string

// The kinds.
const (
	LogMode           Kind = "MODE"
	LogParallel       Kind = "PARALLEL"
	LogModel          Kind = "MODEL"
	LogSpeculate      Kind = "SPECULATE"
	LogGatePass       Kind = "GATE_PASS"
	LogGateFail       Kind = "GATE_FAIL"
	LogMerge          Kind = "MERGE"
	LogSpeculateOK    Kind = "SPECULATE_OK"
	LogSpeculateAbort Kind = "SPECULATE_ABORT"
	LogEscalate       Kind = "ESCALATE"
	LogSample         Kind = "SAMPLE"
	LogFallback       Kind = "FALLBACK"
	LogApproval       Kind = "APPROVAL"
)

// Line is one line of the log: "[12:03:14] MODE: text". A line that cannot be read has its text and no kind.
type Line struct {
	Date  string `json:"date"` // of the run's header above it, as 2026-11-21; "" without one
	Run   string `json:"run"`
	Clock string `json:"clock"` // as 12:03:14
	Kind  Kind   `json:"kind"`
	Text  string `json:"text"`
}

// Log is a decision log that is open for writing. Lines are only added. It is safe for concurrent use.
type Log struct {
	file *os.File
	now  func() time.Time
}

// maxLogText limits one line, in bytes.
const maxLogText = 4 << 10

// OpenLog opens the log at path, and creates it and its folder if they do not exist.
func OpenLog(path string, now func() time.Time) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open the log of routing decisions: %w", err)
	}
	f, err := atomicfile.Append(path, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of routing decisions: %w", err)
	}
	l := &Log{f, now}
	// A line that a crash or a full disk cut off must not swallow the next one.
	last := []byte{'\n'}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		if _, err := f.ReadAt(last, info.Size()-1); err != nil {
			return nil, errors.Join(fmt.Errorf("read the log of routing decisions: %w", err), f.Close())
		}
	}
	if last[0] != '\n' {
		if err := l.write("\n"); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return l, nil
}

// Begin writes the header of a run or of a resumed run. The header has the date; the lines below it have only the time
// of day.
func (l *Log) Begin(run, plan string) error {
	return l.write(fmt.Sprintf("# %s run %s: %s\n", l.now().Format(time.DateOnly),
		strings.ReplaceAll(OneLine(run), " ", "_"), OneLine(plan)))
}

// Add writes lines, each in one piece, with the current time instead of their own.
func (l *Log) Add(lines ...Line) error {
	for _, x := range lines {
		if err := l.write(fmt.Sprintf("[%s] %s: %s\n", l.now().Format(time.TimeOnly), x.Kind, OneLine(x.Text))); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) write(text string) error {
	if _, err := l.file.WriteString(text); err != nil {
		return fmt.Errorf("write to the log of routing decisions: %w", err)
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// OneLine makes text fit for one line: no control characters, no line feeds, limited length.
func OneLine(text string) string {
	lines := strings.FieldsFunc(redact.Clean(text), func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' })
	return phrase.CutBytes(strings.TrimSpace(strings.Join(lines, " ")), maxLogText)
}

// Cleaned returns a copy without terminal control codes in its texts, because they quote plans. Keys of batches are
// already clean.
func (d Decision) Cleaned() Decision {
	each := func(list []string) []string { return append([]string{}, lists.Map(list, OneLine)...) }
	d.Reasons, d.Score.Plus, d.Score.Minus = each(d.Reasons), each(d.Score.Plus), each(d.Score.Minus)
	d.Memory.Note = OneLine(d.Memory.Note)
	d.Steps, d.Edges, d.Pairs = slices.Clone(d.Steps), slices.Clone(d.Edges), slices.Clone(d.Pairs)
	for i := range d.Steps {
		s := &d.Steps[i]
		s.Skip, s.Why, s.Label, s.Model = OneLine(s.Skip), OneLine(s.Why), OneLine(s.Label), OneLine(s.Model)
	}
	for i := range d.Edges {
		d.Edges[i].Reason = OneLine(d.Edges[i].Reason)
	}
	for i := range d.Pairs {
		d.Pairs[i].Reason = OneLine(d.Pairs[i].Reason)
	}
	return d
}

// ReadLog reads a log. It ignores a last line without a line feed, which is still being written or was cut by a
// crash.
func ReadLog(r io.Reader) ([]Line, error) {
	header := regexp.MustCompile(`^# (\d{4}-\d\d-\d\d) run (\S+): `)
	entry := regexp.MustCompile(`^\[(\d\d:\d\d:\d\d)\] ([A-Z_]+): (.*)$`)
	var lines []Line
	date, run := "", ""
	for in := bufio.NewReader(r); ; {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, fmt.Errorf("read the log of routing decisions: %w", err)
		}
		text = strings.TrimRight(text, "\r\n")
		if m := header.FindStringSubmatch(text); m != nil {
			date, run = m[1], m[2]
			continue
		}
		line := Line{Date: date, Run: run, Text: redact.Clean(text)}
		if m := entry.FindStringSubmatch(text); m != nil {
			line.Clock, line.Kind, line.Text = m[1], Kind(m[2]), redact.Clean(m[3])
		}
		if line.Text != "" || line.Kind != "" {
			lines = append(lines, line)
		}
	}
}

// LogLines describes the decision for the log (ROUTE-11): the mode with its reasons, the batches that may run
// concurrently, the model of each batch, and the speculative starts.
func (d Decision) LogLines(r Rules) []Line {
	var lines []Line
	add := func(kind Kind, format string, args ...any) {
		lines = append(lines, Line{Kind: kind, Text: OneLine(fmt.Sprintf(format, args...))})
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
				add(LogParallel, "%s -- %s, %s", phrase.Join(group, ",", BatchName), d.shared(group), d.parents(group))
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
		add(LogModel, "%s-->%s -- %s: %s, confidence=%d%%", BatchName(s.Batch), label, s.Class, s.Why, s.Confidence)
	}
	for _, s := range d.Speculation {
		add(LogSpeculate, "%s", s)
	}
	return lines
}

// String returns "B2 starts while B1's gates run -- overlap 0%".
func (s Speculation) String() string {
	if s.Starts {
		return fmt.Sprintf("%s starts while %s's gates run -- overlap %s", BatchName(s.Batch), BatchName(s.On),
			Percent(s.Overlap))
	}
	return fmt.Sprintf("%s waits for %s's gates -- overlap %s", BatchName(s.Batch), BatchName(s.On), Percent(s.Overlap))
}

// SpeedUpText compares the predicted with the real speed-up (ROUTE-17). It is logged as [LogMode] after a team
// run.
func SpeedUpText(predicted, real float64) string {
	text := fmt.Sprintf("speed-up real=%s, predicted=%s", times(real), times(predicted))
	if predicted > 0 && real > 0 {
		text += fmt.Sprintf(", off by %.0f%%", math.Abs(real-predicted)/predicted*100)
	}
	return text
}

func times(f float64) string {
	if f <= 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", f)
}

// BatchName returns the display name of a batch: B3. A key that begins with a letter stays unchanged.
func BatchName(key string) string {
	if key != "" && key[0] >= '0' && key[0] <= '9' {
		return "B" + key
	}
	return key
}

// Percent formats a rounded percentage; small positive values are "<1%".
func Percent(f float64) string {
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

// shared describes the file overlap of a group. Independent batches never share a file.
func (d Decision) shared(group []string) string {
	if slices.ContainsFunc(d.Pairs,
		func(p Pair) bool { return slices.Contains(group, p.A) && slices.Contains(group, p.B) }) {
		return "overlap=0 files"
	}
	return "overlap unknown"
}

// parents describes the needs of the batches of a group.
func (d Decision) parents(group []string) string {
	all := "both"
	if len(group) > 2 {
		all = "all"
	}
	of := make([]string, len(group))
	for i, key := range group {
		step, _ := d.Step(key)
		of[i] = phrase.Join(d.run(step.Needs), ",", BatchName)
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
		parts = append(parts, BatchName(key)+" depends on "+of[i])
	}
	return strings.Join(parts, ", ")
}
