package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// paperWidth is the width of a printed A4 page with the browser's margins, in CSS pixels.
const paperWidth = 718

// cutTables names the tables that are wider than the space they have.
const cutTables = `[...document.querySelectorAll("table")].filter(e => e.getClientRects().length && (e.getBoundingClientRect().right > innerWidth || e.parentElement.scrollWidth > e.parentElement.clientWidth + 1)).map(e => e.textContent.trim().slice(0, 60)).join(" | ")`

// The report and the trace of a run can be sent as files: opened from another folder they load nothing, and in print
// they are dark on white without cut tables, whatever theme the reader has.
func TestReportIsSelfContained(t *testing.T) {
	chromium(t)
	p, run, _ := shop(t)
	b := open(t, p.serve("127.0.0.1:0").url)
	b.follow("Payments by card")
	b.until(`document.querySelector("#b-3").textContent.includes("merged") && document.querySelector("#b-4").textContent.includes("needs you")`)
	p.do(0, "cancel")
	p.allow("five")
	p.wait(run)
	reports, err := filepath.Glob(filepath.Join(p.dir, ".runplan", "reports", "*", "report.html"))
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports %q, %v", reports, err)
	}
	for name, text := range map[string]string{"report.html": read(t, reports[0]),
		"trace.html": p.do(0, "trace", "--html")} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		sent(t, file)
	}
}

// sent opens a file as a recipient of a mail does, and prints it.
func sent(t *testing.T, file string) {
	t.Helper()
	name := filepath.Base(file)
	b := open(t, "about:blank", network.Enable())
	var asked []string
	chromedp.ListenTarget(b.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, "data:") {
			b.mu.Lock()
			defer b.mu.Unlock()
			asked = append(asked, e.Request.URL)
		}
	})
	b.do(chromedp.Navigate("file://" + file))
	b.reads("Payments by card")
	for _, width := range []int64{1200, 390} {
		b.do(emulation.SetDeviceMetricsOverride(width, 900, 1, false))
		if eval[bool](b, "document.documentElement.scrollWidth > innerWidth") {
			t.Errorf("%s, %d wide: it has to be moved sideways", name, width)
		}
		if found := eval[string](b, cutTables); found != "" {
			t.Errorf("%s, %d wide: tables are cut: %s", name, width, found)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.do(
			emulation.SetEmulatedMedia().WithMedia("print").WithFeatures(
				[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
			emulation.SetDeviceMetricsOverride(paperWidth, 1000, 1, false),
		)
		// Elements with a background darker than 200 on a scale from 0 to 255.
		dark := `[...document.querySelectorAll("body, body *")].filter(e => {
			const c = getComputedStyle(e).backgroundColor.match(/[\d.]+/g).map(Number);
			return (c.length < 4 || c[3] > 0) && Math.min(c[0], c[1], c[2]) < 200;
		}).map(e => e.tagName + "." + (e.className.baseVal ?? e.className)).slice(0, 5).join(" ")`
		if found := eval[string](b, dark); found != "" {
			t.Errorf("%s, printed by a reader of the %s theme, has dark grounds: %s", name, scheme, found)
		}
		pale := `[...document.querySelectorAll("body *")].filter(e => {
			if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim() !== "")) return false;
			const style = getComputedStyle(e), c = ((e instanceof SVGElement ? style.fill : style.color).match(/[\d.]+/g) || [0, 0, 0]).map(Number);
			return e.tagName !== "style" && e.tagName !== "title" && Math.min(c[0], c[1], c[2]) > 150;
		}).map(e => e.tagName + ": " + e.textContent.slice(0, 30)).slice(0, 5).join(" | ")`
		if found := eval[string](b, pale); found != "" {
			t.Errorf("%s, printed by a reader of the %s theme, has pale text: %s", name, scheme, found)
		}
		cut := `[...document.querySelectorAll("table, pre, svg")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + ": " + (e.textContent || "").slice(0, 60)).join(" | ")`
		if found := eval[string](b, cut); found != "" {
			t.Errorf("%s, printed by a reader of the %s theme, is cut at the right: %s", name, scheme, found)
		}
		hidden := `[...document.querySelectorAll("details > *:not(summary)")].filter(e => e.getBoundingClientRect().height === 0 && e.textContent.trim() !== "").length`
		if n := eval[int](b, hidden); n != 0 {
			t.Errorf("%s, printed: %d folded parts are left out", name, n)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(asked) != 1 {
		t.Errorf("%s asks for %s", name, fmt.Sprint(asked))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
