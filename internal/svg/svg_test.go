package svg

import (
	"math"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/layered"
)

// A value stays in its place, in text and in attributes, and numbers are written to a tenth.
func TestDraw(t *testing.T) {
	p := New("x", `"a" & b`, "", 10, 20.25)
	p.Draw(`<text x="%v" y="%v">%v</text>`, -2.25, 7, "</text><script>\x00")
	got := p.String()
	for _, want := range []string{
		`aria-label="&#34;a&#34; &amp; b"`, `viewBox="0 0 10 20.3"`,
		"<text x=\"-2.3\" y=\"7\">&lt;/text&gt;&lt;script&gt;\ufffd</text>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "<style>") || strings.Contains(got, "%!") {
		t.Error(got)
	}
	for want, f := range map[string]float64{"1": 1, "0": 0, "1.5": 1.5, "-2.2": -2.2, "10": 10, "0.3": math.Pi / 10} {
		if got := number(f); got != want {
			t.Errorf("%g is written %s", f, got)
		}
	}
}

// An arrow begins and ends at the sides of its boxes and has round corners.
func TestPath(t *testing.T) {
	chain := []layered.Item{{Key: "0"}, {Key: "1", Needs: []string{"0"}}, {Key: "2", Needs: []string{"1"}}}
	if got := (Graph{Graph: layered.Layout(chain)}).path(0, 1); got != "M222 65C246 65 246 65 270 65" {
		t.Errorf("the path to the next box is %s", got)
	}
	g := Graph{Graph: layered.Layout([]layered.Item{
		{Key: "0"}, {Key: "1", Needs: []string{"0"}}, {Key: "2", Needs: []string{"0"}}, {Key: "3", Needs: []string{"2"}},
		{Key: "4", Needs: []string{"1", "3"}},
	})}
	if got := g.path(0, 2); got != "M222 65C246 65 246 141 270 141" {
		t.Errorf("the path to the next column is %s", got)
	}
	if got := g.path(1, 4); !strings.HasPrefix(got, "M454 ") || !strings.Contains(got, "Q") ||
		!strings.Contains(got, "L") || strings.Contains(got, "C") {
		t.Errorf("past a column: %s", got)
	}
}
