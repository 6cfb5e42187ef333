package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/svg"
	"github.com/runplan/runplan/internal/ui"
)

// Picture is a timeline to draw: rows of bars over an axis of time. All strings are plain text.
type Picture struct {
	Label      string // what a screen reader says
	Style      string // CSS to put into the picture; "" leaves it to the page
	Names      int    // width of the column of names, in pixels
	Row, Bar   int    // heights, in pixels
	Begin, End int64  // milliseconds since the start of the run
	Rows       []Row
	Legend     bool // explain the colors and marks
}

// Row is a line of the timeline.
type Row struct {
	Name string
	Sub  bool // it belongs to the row above
	Bars []Bar
}

// Bar is a span in the timeline.
type Bar struct {
	Span
	Tip    string // shown when the pointer is over it
	Inside string // shown in it, if there is room
	From   []int  // rows on whose candidates it began
	Merged string // shown at the mark of its merge; "" has no mark
}

// Word returns what a batch does in a span of this kind.
func Word(kind string) string {
	return map[string]string{Edit: "editing", Check: "checking", Land: "merging", Wait: "waiting for a limit"}[kind]
}

// Tip describes a span. name is its batch or candidate, and early lists the batches on whose candidates it began.
func (s Span) Tip(name string, early []string) string {
	tip := fmt.Sprintf("%s: %s, %s", name, Word(s.Kind), ui.Duration(time.Duration(s.To-s.From)*time.Millisecond))
	if s.End != "" && s.End != Ended {
		tip += ", " + string(s.End)
	}
	if len(early) > 0 {
		tip += ", begun on the candidate of " + strings.Join(early, ", ")
	}
	if s.Reason != "" {
		tip += ": " + ui.Brief(s.Reason, 200)
	}
	return tip
}

// Dimensions of the picture, in pixels.
const (
	pictureWidth = 1080
	pictureRight = 20
	pictureTop   = 30
	legendHeight = 34
)

// SVG draws the picture.
func (p Picture) SVG() string {
	bottom := pictureTop + p.Row*len(p.Rows)
	height := bottom + 6
	if p.Legend {
		height = bottom + legendHeight
	}
	b := svg.New("tl", p.Label, p.Style, pictureWidth, float64(height))
	total := max(1, p.End-p.Begin)
	x := func(ms int64) float64 {
		return float64(p.Names) + float64(ms-p.Begin)/float64(total)*float64(pictureWidth-p.Names-pictureRight)
	}
	step := Tick(time.Duration(total) * time.Millisecond).Milliseconds()
	for at := p.Begin; at <= p.End; at += step {
		b.Draw(`<path class="tl-grid" d="M%v %vV%v"/><text class="tl-tick" x="%[1]v" y="16" text-anchor="middle">`+
			"%[4]v</text>\n", x(at), pictureTop-8, bottom, ui.Duration(time.Duration(at)*time.Millisecond))
	}
	for i, r := range p.Rows {
		p.row(b, r, i, x)
	}
	if p.Legend {
		legend(b, bottom+22)
	}
	return b.String()
}

func (p Picture) row(b *svg.Picture, r Row, i int, x func(int64) float64) {
	y := pictureTop + p.Row*i
	top := y + (p.Row-p.Bar)/2
	class, indent := "tl-name", 0
	if r.Sub {
		class, indent = "tl-cand", 14
	}
	b.Draw(`<text class="%v" x="%v" y="%v">%v</text>`+"\n", class, 4+indent, y+p.Row/2+4,
		cells.Cut(r.Name, (p.Names-6)/7-indent/7, "…"))
	for _, s := range r.Bars {
		for _, from := range s.From {
			to := top // from above, an arrow ends at the upper edge
			if from > i {
				to += p.Bar
			}
			b.Draw(`<path class="tl-early" d="M%v %vV%v" marker-end="url(#tl-tip)"/>`+"\n", x(s.Span.From)+1,
				pictureTop+p.Row*from+p.Row/2, to)
		}
	}
	for _, s := range r.Bars {
		class := "tl-" + s.Kind
		if s.Off() {
			class += " tl-off"
		}
		width := max(2, x(s.To)-x(s.Span.From))
		b.Draw(`<rect class="%v" x="%v" y="%v" width="%v" height="%v" rx="2"><title>%v</title></rect>`+"\n",
			class, x(s.Span.From), top, width, p.Bar, s.Tip)
		if s.Inside != "" && float64(7*len(s.Inside)+6) < width && !s.Off() {
			b.Draw(`<text class="tl-inside" x="%v" y="%v">%v</text>`+"\n", x(s.Span.From)+4, top+p.Bar-5, s.Inside)
		}
	}
	for _, s := range r.Bars { // marks come last, so that nothing covers them
		at := max(x(s.To), x(s.Span.From)+2)
		switch {
		case s.End == WentBad:
			b.Draw(`<path class="tl-bad" d="M%v %vV%v"><title>%v</title></path>`+"\n", at, top-3, top+p.Bar+3, s.Tip)
		case s.Merged != "":
			b.Draw(`<path class="tl-merged" d="M%v %vl5 5-5 5-5-5z"><title>%v</title></path>`+"\n", at, top+p.Bar/2-5,
				s.Merged)
		}
	}
}

func legend(b *svg.Picture, y int) {
	x := 18 // little indentation, because the legend is long
	text := func(word string) {
		b.Draw(`<text class="tl-tick" x="%v" y="%v">%v</text>`+"\n", x+18, y, word)
		x += 18 + 6*len(word) + 18
	}
	for _, kind := range []string{Edit, Check, Land, Wait} {
		b.Draw(`<rect class="tl-%v" x="%v" y="%v" width="12" height="10" rx="2"/>`, kind, x, y-9)
		text(Word(kind))
	}
	b.Draw(`<rect class="tl-edit tl-off" x="%v" y="%v" width="12" height="10" rx="2"/>`, x, y-9)
	text("cancelled, cut short or not ended")
	b.Draw(`<path class="tl-bad" d="M%v %vv14"/>`, x+6, y-11)
	text("failed, or a conflict")
	b.Draw(`<path class="tl-merged" d="M%v %vl5 5-5 5-5-5z"/>`, x+6, y-9)
	text("merged")
	b.Draw(`<path class="tl-early" d="M%v %vv11" marker-end="url(#tl-tip)"/>`, x+6, y-10)
	text("early start")
}
