package show

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// wellFormed parses an SVG and returns the number of its elements and its text.
func wellFormed(t *testing.T, data []byte) (elements map[string]int, text string) {
	t.Helper()
	elements = map[string]int{}
	var all strings.Builder
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return elements, all.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			elements[x.Name.Local]++
		case xml.CharData:
			all.Write(x)
		}
	}
}

func TestSVG(t *testing.T) {
	p, d := sample(t)
	var b bytes.Buffer
	must(t, SVG(&b, p, d))
	golden(t, "picture-plan.svg", b.Bytes())
	elements, text := wellFormed(t, b.Bytes())
	// One title for each of the six edges that no others imply, and for each of the eight batches.
	if elements["title"] != 14 {
		t.Errorf("%d titles", elements["title"])
	}
	for _, want := range []string{
		"B2 needs B1: context_refs names src/ledger.go, which B1 creates (line 17)", "The ledger", "opus 3min",
		"not run: outside --from/--to",
		"team mode, 2 workers, score 72/100, about 14min", "architecture", "critical path",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	// The path 1, 4, 5, 7 takes 16 minutes.
	if n := strings.Count(b.String(), `<path class="g-edge g-long" d="M`); n != 3+1 {
		t.Errorf("%d thick lines, want three edges and one in the legend", n)
	}
}

func TestDOT(t *testing.T) {
	p, d := sample(t)
	var b bytes.Buffer
	must(t, DOT(&b, p, d))
	golden(t, "picture-plan.dot", b.Bytes())
}

// Text of a plan cannot break out of its place in a picture.
func TestPicturesEscapePlanText(t *testing.T) {
	p, d := sample(t)
	evil := "\"]; evil [\\ </title><script>x</script>\x1b[2J\x00\n&amp;\u202e"
	p.Title, p.Batches[0].Title, p.Batches[7].Title = evil, evil, evil
	d.Steps[0].Why, d.Steps[0].Label, d.Steps[7].Skip, d.Edges[0].Reason = evil, evil, evil, evil
	var svg, dot bytes.Buffer
	must(t, SVG(&svg, p, d))
	must(t, DOT(&dot, p, d))
	elements, text := wellFormed(t, svg.Bytes())
	if elements["script"] > 0 || strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "<script>") {
		t.Error(svg.String())
	}
	inside := false // of quotes
	for i, s := 0, dot.String(); i < len(s); i++ {
		switch {
		case s[i] == '\\' && inside:
			i++
		case s[i] == '"':
			inside = !inside
		case !inside && strings.HasPrefix(s[i:], "evil") || s[i] == 0x1b:
			t.Fatalf("outside of quotes: %s", s[i:])
		}
	}
}

// Pictures can be drawn of no batches, of one and of many.
func TestPicturesOfAnySize(t *testing.T) {
	p, _ := sample(t)
	for _, n := range []int{0, 1, 200} {
		d := shape(n, strings.Join(chain(n + 1)[:max(0, n-1)], " "))
		var svg, dot bytes.Buffer
		must(t, SVG(&svg, p, d))
		must(t, DOT(&dot, p, d))
		elements, _ := wellFormed(t, svg.Bytes())
		if elements["svg"] != n+1 || strings.Count(dot.String(), " -> ") != max(0, n-1) {
			t.Errorf("%d batches are drawn with %d boxes and %d arrows", n, elements["svg"]-1,
				strings.Count(dot.String(), " -> "))
		}
	}
}

// If Graphviz is installed, it can read the DOT output.
func TestGraphvizReadsDOT(t *testing.T) {
	program, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("no dot in PATH: whether Graphviz reads the file was not tried")
	}
	p, d := sample(t)
	p.Batches[0].Title = `"]; \ & <b>`
	path := filepath.Join(t.TempDir(), "x.dot")
	var b bytes.Buffer
	must(t, DOT(&b, p, d))
	must(t, os.WriteFile(path, b.Bytes(), 0o644))
	out, err := exec.CommandContext(t.Context(), program, "-Tplain", path).CombinedOutput()
	if err != nil || strings.Count(string(out), "\nedge ") != 6 {
		t.Errorf("%v\n%s", err, out)
	}
}

// A title is truncated to the width of its box; a Chinese character counts as two columns.
func TestSVGTruncatesWideTitle(t *testing.T) {
	p, d := sample(t)
	p.Batches[0].Title = "実装する台帳の再試行と通貨"
	var b bytes.Buffer
	must(t, SVG(&b, p, d))
	if want := `<text class="g-title" x="14" y="41">実装する台帳の再試行…</text>`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s in\n%s", want, b.String())
	}
}

func TestBoxShowsExpectedDuration(t *testing.T) {
	p := &planparse.Plan{Batches: []planparse.Batch{{Key: "1", Number: "1", Title: "A"}}}
	for expected, want := range map[time.Duration]string{0: "cheap", time.Nanosecond: "cheap under 1s",
		20 * time.Minute: "cheap 20min"} {
		if got := boxOf(p, routing.Step{Batch: "1", Label: "cheap", Expected: expected}).State; got != want {
			t.Errorf("%v: %q, want %q", expected, got, want)
		}
	}
}
