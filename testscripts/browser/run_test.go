package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const teamConfig = "[routing]\nmode = \"team\"\nmax_workers = 4\n[sampling]\nsample_on_retry = false\n"

const teamPlan = "---\nparallel_safe: true\n---\n# Four at once\n\n## Batch 1: north\n\nWrite north.\n\n## Batch 2: " +
	"east\n\nWrite east.\n\n## Batch 3: south\n\nWrite south.\n\n## Batch 4: west\n\nWrite west.\n"

// The page shows a run of four workers from the list, before the run starts, to its end, without a reload.
func TestPageShowsTeamRunLive(t *testing.T) {
	chromium(t)
	p := newProject(t, teamConfig,
		"echo \"hello from batch $RUNPLAN_BATCH\"\nhold go\necho $RUNPLAN_BATCH >file$RUNPLAN_BATCH\n",
		map[string]string{"plan.md": teamPlan})
	b := open(t, p.serve("127.0.0.1:0").url)
	b.reads("Nothing was run here yet.")
	eval[int](b, "window.here = 1")
	run := p.start("run", "--agent", "fake", "plan.md")
	b.reads("Four at once")
	b.until("window.here === 1")
	b.follow("Four at once")
	eval[int](b, "window.here = 2")
	b.until(`[...document.querySelectorAll("#rows tr")].filter(r => r.textContent.includes("editing")).length === 4`)
	b.until(`document.querySelectorAll("#nodes .node.busy").length === 4`)
	for _, text := range []string{"hello from batch 1", "hello from batch 4", "worker 4"} {
		b.until(`document.querySelector("main").textContent.includes("` + text + `")`)
	}
	p.allow("go")
	b.until(`document.querySelector("#head").textContent.includes("done")`)
	b.reads("4 of 4")
	b.until(`document.querySelectorAll("#nodes .node.good").length === 4`)
	b.until(`document.querySelectorAll("#rows .state.good").length === 4`)
	b.until("window.here === 2")
	if text, code := p.wait(run); code != 0 {
		t.Errorf("the run: %d\n%s", code, text)
	}
	b.until(`document.querySelector("#said").textContent !== ""`) // the text for screen readers
}

// The page leads from the list of runs to the finding of a failed batch, with its file and line.
func TestPageLeadsToFinding(t *testing.T) {
	chromium(t)
	config := "[routing]\nmode = \"headless\"\n[sampling]\nsample_on_retry = false\n[[gates.command]]\nname = " +
		"\"wording\"\nrun = \"echo 'notes.txt:2:1: say it properly'; exit 1\"\n"
	p := newProject(t, config, "printf 'one\\noops\\n' >notes.txt\necho I wrote the notes\n",
		map[string]string{"plan.md": "# Notes\n\n## Batch 1: notes\n\nWrite notes.txt.\n"})
	p.do(1, "run", "--agent", "fake", "--max-attempts", "1", "plan.md")
	b := open(t, p.serve("127.0.0.1:0").url)
	b.reads("1 failed")
	b.follow("Notes")
	b.follow("1 notes")
	b.reads("notes.txt:2")
	b.reads("say it properly")
	b.reads("I wrote the notes") // the agent's text
	b.until(`document.querySelector(".diff").textContent.includes("+oops")`)
	b.do(chromedp.Click("#brief-fold summary", chromedp.ByQuery))
	b.reads("Write notes.txt.")
}

// A waiting run continues when a person approves on the page; a denial fails the batch with its reason.
func TestApprovalContinuesRun(t *testing.T) {
	chromium(t)
	plan := "---\nparallel_safe: true\n---\n# Careful\n\n## Batch 1: look\napprove: yes\n\nWrite one.\n\n## Batch 2: " +
		"other\n\nWrite two.\n\n## Batch 3: no\napprove: yes\n\nWrite three.\n"
	p := newProject(t, teamConfig, "[ $RUNPLAN_BATCH != 2 ] || hold go\necho $RUNPLAN_BATCH >file$RUNPLAN_BATCH\n",
		map[string]string{"plan.md": plan})
	run := p.start("run", "--agent", "fake", "--max-attempts", "1", "plan.md")
	b := open(t, p.serve("127.0.0.1:0").url)
	b.until(`document.querySelector("#needs").textContent === "2 waiting"`) // on a page about something else
	b.follow("Needs you")
	card := func(title string) string {
		b.until(`[...document.querySelectorAll("#waiting section")].some(s => s.textContent.includes("` + title + `"))`)
		return "#" + eval[string](b, `[...document.querySelectorAll("#waiting section")].find(s => s.textContent.includes("`+
			title+`")).id`)
	}
	no := card("3 no")
	b.do(chromedp.SetValue(no+` input[name="reason"]`, "three is one too many", chromedp.ByQuery))
	b.press(no, "Deny")
	b.reads("Denied.")
	b.press(card("1 look"), "Approve")
	b.reads("Approved.")
	b.follow("Runs")
	b.reads("1 of 3 merged") // while the other is still running
	p.allow("go")
	b.reads("2 of 3 merged")
	if text, code := p.wait(run); code != 1 || !strings.Contains(text, "approved by Ada Tester") ||
		!strings.Contains(text, "three is one too many") {
		t.Errorf("the run: %d\n%s", code, text)
	}
}

// An open page reconnects to its server and shows what happened in the meantime, without a reload.
func TestPageReconnectsToServer(t *testing.T) {
	chromium(t)
	p := newProject(t, teamConfig, "hold go$RUNPLAN_BATCH\necho $RUNPLAN_BATCH >file$RUNPLAN_BATCH\n",
		map[string]string{"plan.md": teamPlan})
	run := p.start("run", "--agent", "fake", "plan.md")
	first := p.serve("127.0.0.1:0")
	b := open(t, first.url)
	b.calm = func(text string) bool { return strings.Contains(text, "net::ERR_") } // nobody is there for a while
	b.follow("Four at once")
	eval[int](b, "window.here = 1")
	b.until(`document.querySelector("#link").dataset.state === "on"`)
	first.stop()
	b.until(`document.querySelector("#link").dataset.state === "off"`)
	for _, n := range []string{"1", "2"} {
		p.allow("go" + n)
	}
	p.serve(strings.TrimPrefix(first.base, "http://"))
	b.until(`document.querySelector("#link").dataset.state === "on"`)
	b.until(`document.querySelectorAll("#rows .state.good").length === 2`)
	for _, n := range []string{"3", "4"} {
		p.allow("go" + n)
	}
	b.until(`document.querySelector("#head").textContent.includes("done")`)
	b.until("window.here === 1")
	p.wait(run)
}

// A user can do everything on the page with the keyboard alone.
func TestPageWorksWithKeyboardAlone(t *testing.T) {
	chromium(t)
	p := newProject(t, "", "",
		map[string]string{"plan.md": "# Words\n\n## Batch 1: a word\n\n```text file=word.txt\nword\n```\n"})
	p.do(0, "run", "plan.md")
	p.do(0, "note", "look at the words")
	b := open(t, p.serve("127.0.0.1:0").url)
	tabTo := func(what string) {
		t.Helper()
		for range 40 {
			b.do(chromedp.KeyEvent(kb.Tab))
			if eval[bool](b, "document.activeElement !== null && document.activeElement.textContent.includes('"+what+
				"') && ['A','BUTTON','SUMMARY'].includes(document.activeElement.tagName)") {
				if !eval[bool](b,
					"document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== "+
						"'none'") {
					t.Errorf("the focus on %s is not visible", what)
				}
				return
			}
		}
		t.Fatalf("the tab key does not reach %s\n%s", what, b.text())
	}
	enter := func(what string) {
		t.Helper()
		before := eval[string](b, "location.href")
		tabTo(what)
		b.do(chromedp.KeyEvent(kb.Enter))
		b.until("location.href !== '" + before + "' && document.readyState === 'complete'")
	}
	b.do(chromedp.KeyEvent(kb.Tab))
	if eval[string](b, "document.activeElement.className") != "skip" {
		t.Error("the first stop is not the way past the header")
	}
	enter("Words")
	enter("1 a word")
	tabTo("What the agent was given")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("document.querySelector('#brief-fold').open")
	b.do(chromedp.Navigate(eval[string](b, "location.origin")))
	enter("Needs you")
	tabTo("Done")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.reads("Nothing waits for you.")
}

// The page shows markup in a plan, a file name or an agent's output as text.
func TestPageEscapesHostileText(t *testing.T) {
	chromium(t)
	plan := "# Be <script>alert('plan')</script> & <img src=x onerror=alert(1)> careful\n\n## Batch 1: a " +
		"<script>alert('batch')</script> \u202egnp.exe\n\nWrite it.\n"
	agent := `
printf '<script>alert("agent")</script>\n\033]0;owned\007\033[2J\342\200\256right to left\n</span></pre><img src=x onerror=alert(2)>\n'
head -c 1000000 /dev/zero | tr '\0' 'x'
echo
echo 'the end'
echo '<b>bold</b>' >"<img src=x onerror=alert(3)>.txt"
`
	p := newProject(t, "[routing]\nmode = \"headless\"\n", agent, map[string]string{"plan.md": plan})
	p.do(0, "run", "--agent", "fake", "plan.md")
	b := open(t, p.serve("127.0.0.1:0").url) // a dialog that opens fails the test
	b.reads("<script>alert('plan')</script>")
	b.follow("careful")
	b.reads("<script>alert('batch')</script>")
	b.follow("alert('batch')")
	b.reads("the end")
	b.reads("<img src=x onerror=alert(3)>.txt")
	b.reads("+<b>bold</b>")
	if n := eval[int](b, "document.querySelectorAll('main img, main script, main b, main iframe').length"); n != 0 {
		t.Errorf("the page has %d elements that come from texts of the run", n)
	}
	if eval[bool](b,
		`/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.textContent)`) {
		t.Error("there are characters that nobody sees")
	}
	if n := eval[float64](b, "document.documentElement.outerHTML.length"); n > 300_000 {
		t.Errorf("the page has %.0f bytes", n)
	}
}

// axe-core finds nothing serious in the light theme on a wide screen, and in the dark one on a phone.
func TestAxe(t *testing.T) {
	chromium(t)
	axe := axeCore(t)
	p, run, at := shop(t)
	b := open(t, at.url)
	b.follow("Payments by card")
	b.until(`document.querySelector("#b-3").textContent.includes("merged") && document.querySelector("#b-4").textContent.includes("needs you")`)
	check := func(what string) {
		t.Helper()
		for _, screen := range []struct {
			scheme string
			width  int64
		}{{"light", 1200}, {"dark", 390}} {
			b.do(emulation.SetEmulatedMedia().WithFeatures(
				[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme},
					{Name: "prefers-reduced-motion", Value: "reduce"}}),
				emulation.SetDeviceMetricsOverride(screen.width, 900, 1, false))
			if found := violations(b, axe); found != "" {
				t.Errorf("%s, %v:\n%s", what, screen, found)
			}
			if eval[bool](b, "document.documentElement.scrollWidth > innerWidth") {
				t.Errorf("%s, %v: it has to be moved sideways", what, screen)
			}
			if found := eval[string](b, cutTables); found != "" {
				t.Errorf("%s, %v: tables are cut: %s", what, screen, found)
			}
		}
		b.do(emulation.ClearDeviceMetricsOverride())
	}
	check("run")
	runPage := eval[string](b, "location.pathname")
	for _, path := range []string{"log", "search?q=TODO", "do/cancel"} {
		b.do(chromedp.Navigate(at.base + runPage + path))
		check(path)
	}
	b.do(chromedp.Navigate(at.base + runPage))
	b.follow("candidates side by side")
	check("candidates")
	b.follow("batch 3")
	check("batch")
	b.follow("attempt 1")
	check("attempt")
	b.follow("Needs you")
	check("waiting")
	b.press("#waiting section", "Approve")
	b.reads("Approved.")
	b.follow("Runs")
	b.reads("4 of 7 merged") // once it is merged, no other merge changes its tree
	p.allow("five")
	p.wait(run)
	check("runs")
	b.follow("Learning")
	check("learning")
}

// violations returns the serious and critical findings of axe-core on the current page.
func violations(b *tab, axe string) (found string) {
	b.t.Helper()
	ask := `axe.run({resultTypes: ["violations"]}).then(r => r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" | ")).join("\n"))`
	if !eval[bool](b, `"axe" in window`) { // themes and widths do not load the page again
		b.do(chromedp.Evaluate(axe, nil))
	}
	b.do(chromedp.Evaluate(ask, &found, awaited))
	return found
}

// axeVersion is the release of axe-core that checks the pages.
const axeVersion = "4.10.3"

// axeCore returns the source of axe-core, which npm installs into a cache outside the clone the first time.
func axeCore(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "runplan-tests", "axe-core-"+axeVersion)
	file := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(file); err != nil {
		if err := npmInstall(dir, "axe-core@"+axeVersion); err != nil {
			if os.Getenv("RUNPLAN_TEST_ALL") == "1" {
				t.Fatalf("RUNPLAN_TEST_ALL=1, and there is no axe-core: %v", err)
			}
			t.Skipf("SKIPPED: there is no axe-core: %v", err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
