package planparse

import (
	"fmt"
	"slices"
	"strings"
)

// Cover describes who reads a range of lines of a plan: agents, runplan, or nobody.
type Cover struct {
	First   int      `json:"first"`
	Last    int      `json:"last"`
	Kind    string   `json:"kind"`              // "brief", "runplan", "skipped" or "nobody"
	Batches []string `json:"batches,omitempty"` // keys of the batches whose briefs contain the lines
	Why     string   `json:"why"`
	Text    string   `json:"text"`  // the first non-blank line, cut to 80 characters
	Lines   int      `json:"lines"` // number of non-blank lines
}

// The kinds of [Cover].
const (
	CoverBrief   = "brief"   // in the brief of an agent
	CoverRunplan = "runplan" // read by runplan itself
	CoverSkipped = "skipped" // in the brief of a batch that does not run
	CoverNobody  = "nobody"
)

// Coverage lists the readers of all lines of a plan.
type Coverage struct {
	Ranges  []Cover `json:"ranges"`
	Lines   int     `json:"lines"` // number of non-blank lines
	Brief   int     `json:"brief"`
	Runplan int     `json:"runplan"`
	Skipped int     `json:"skipped"`
	Nobody  int     `json:"nobody"`
}

// Reading is a range of lines and its reader, recorded by the parser.
type Reading struct {
	First, Last int
	Batch       int // index; -1 is every batch, -2 runplan itself
	Why         string
}

// reads records the reader of the lines first to last.
func (b *builder) reads(first, last, batch int, why string) {
	if first <= last {
		b.plan.Readings = append(b.plan.Readings, Reading{first, last, batch, why})
	}
}

// lineReader describes who reads one line, and why.
type lineReader struct {
	kind, why string
	batches   []string
}

// reads adds a reading to a line.
func (p *Plan) reads(l *lineReader, r Reading) {
	switch {
	case r.Batch == -2:
		if l.kind == "" {
			l.kind, l.why = CoverRunplan, r.Why
		}
	case r.Batch < 0:
		if len(p.Batches) > 0 {
			l.kind, l.why, l.batches = CoverBrief, r.Why, []string{"*"}
		}
	default:
		b := &p.Batches[r.Batch]
		if why := notRun(b); why != "" {
			if l.kind == "" || l.kind == CoverRunplan {
				l.kind, l.why = CoverSkipped, why
			}
			return
		}
		l.kind, l.why = CoverBrief, r.Why
		if !slices.Contains(l.batches, b.Key) {
			l.batches = append(l.batches, b.Key)
		}
	}
}

// notRun returns why a batch gets no brief, "" if it gets one.
func notRun(b *Batch) string {
	switch {
	case b.Checkpoint != nil:
		return "a checkpoint for a person"
	case b.Empty:
		return "an empty batch, which is not run"
	case b.Done():
		return "ticked off in the plan, so the batch does not run"
	}
	return ""
}

// isRule reports whether a line is only a horizontal rule, which has no content.
func isRule(text string) bool {
	return len(text) >= 3 && (strings.Trim(text, "-") == "" || strings.Trim(text, "*") == "" ||
		strings.Trim(text, "_") == "")
}

// Cover returns the reader of each line of the plan. src is the text that [Parse] read.
func (p *Plan) Cover(src []byte) Coverage {
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n"), "\n")
	readers := make([]lineReader, len(lines)+1) // of each line; a line without one has no kind
	for _, r := range p.Readings {
		for n := max(r.First, 1); n <= min(r.Last, len(lines)); n++ {
			p.reads(&readers[n], r)
		}
	}
	var c Coverage
	heading := ""
	for n := 1; n <= len(lines); n++ {
		text := strings.TrimSpace(lines[n-1])
		r := readers[n]
		if r.kind == "" && len(p.Batches) == 0 {
			r.kind, r.why = CoverNobody, "the plan has no batches, so there are no briefs"
		}
		if r.kind == "" {
			if strings.HasPrefix(text, "#") {
				heading = strings.TrimSpace(strings.TrimLeft(text, "#"))
			}
			r.kind, r.why = CoverNobody, "outside of every batch"
			if heading != "" {
				r.why = fmt.Sprintf("below %q, outside of every batch", cutText(heading, 60))
			}
		} else {
			heading = ""
		}
		if text == "" || r.kind == CoverNobody && isRule(text) {
			continue
		}
		c.Lines++
		*map[string]*int{CoverBrief: &c.Brief, CoverRunplan: &c.Runplan, CoverSkipped: &c.Skipped,
			CoverNobody: &c.Nobody}[r.kind]++
		if k := len(c.Ranges) - 1; k >= 0 && c.Ranges[k].Kind == r.kind && c.Ranges[k].Why == r.why &&
			slices.Equal(c.Ranges[k].Batches, r.batches) {
			c.Ranges[k].Last, c.Ranges[k].Lines = n, c.Ranges[k].Lines+1
			continue
		}
		c.Ranges = append(c.Ranges,
			Cover{First: n, Last: n, Kind: r.kind, Batches: r.batches, Why: r.why, Text: cutText(text, 80), Lines: 1})
	}
	c.Ranges = filled(c.Ranges)
	return c
}

func cutText(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Share returns n as a percentage of the lines.
func (c Coverage) Share(n int) float64 {
	if c.Lines == 0 {
		return 0
	}
	return 100 * float64(n) / float64(c.Lines)
}
