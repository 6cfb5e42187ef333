package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The keys that the help lists do what it says, and an input field takes them as text.
func TestHelpKeysWork(t *testing.T) {
	chromium(t)
	p := newProject(t, "", "",
		map[string]string{"plan.md": "# Words\n\n## Batch 1: a word\n\n```text file=word.txt\nword\n```\n"})
	p.do(0, "run", "plan.md")
	b := open(t, p.serve("127.0.0.1:0").url)
	press := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			b.do(chromedp.KeyEvent(k))
		}
	}
	at := func(path string) {
		t.Helper()
		b.until("location.pathname.match(" + path + ") && document.readyState === 'complete'")
	}
	press("?")
	b.until("document.querySelector('#keys').open")
	b.reads("next and previous row")
	press(kb.Escape)
	b.until("!document.querySelector('#keys').open")
	press("j", kb.Enter)
	at("/^.run.[^/]+.$/")
	press("j", kb.Enter)
	at("/batch.1$/")
	press("u")
	at("/^.run.[^/]+.$/")
	press("/")
	b.until("document.activeElement.type === 'search'")
	// DevTools also types a key that the page handles; a keyboard does not
	eval[string](b, "document.activeElement.value = ''")
	press("w", "o", "r", "?", "g", "n")
	if got := eval[string](b, "document.activeElement.value"); got != "wor?gn" {
		t.Errorf("the field has %q", got)
	}
	if eval[bool](b, "document.querySelector('#keys').open") {
		t.Error("a key that was typed into a field opened the help")
	}
	press(kb.Escape, "g", "n")
	at("/^.waiting$/")
	press("g", "l")
	at("/^.learning$/")
	press("g", "r")
	at("/^.$/")
}

// A user stops and continues a run on the page: the page first shows what will happen, and then the result.
func TestPageStopsAndContinuesRun(t *testing.T) {
	chromium(t)
	p := newProject(t, "[routing]\nmode = \"headless\"\n",
		"hold go$RUNPLAN_BATCH\necho $RUNPLAN_BATCH >file$RUNPLAN_BATCH\n",
		map[string]string{"plan.md": "# Two\n\n## Batch 1: one\n\nWrite one.\n\n## Batch 2: two\n\nWrite two.\n"})
	run := p.start("run", "--agent", "fake", "plan.md")
	b := open(t, p.serve("127.0.0.1:0").url)
	b.follow("Two")
	b.follow("Stop the run")
	b.reads("The running batches are finished first: 1 one.")
	b.press("form.act", "Stop the run")
	b.reads("The run was asked to stop.")
	b.reads("stopping: cancelled by Ada Tester")
	p.allow("go1")
	if text, code := p.wait(run); code != 130 || !strings.Contains(text, "cancelled by Ada Tester") {
		t.Errorf("the run: %d\n%s", code, text)
	}
	b.follow("Go on with the run")
	b.reads("Begun or continued:")
	b.press("form.act", "Go on")
	b.reads("The run continues in a separate process.")
	p.allow("go2")
	b.reads("2 of 2")
	b.until(`document.querySelector("#head").textContent.includes("done")`)
}
