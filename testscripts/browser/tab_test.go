package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/runplan/runplan/tools/tooltest"
)

// patience limits how long a test waits for an expected event.
const patience = 30 * time.Second

// chromium returns the path of the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("RUNPLAN_BROWSER") == "none" { // set where installing one failed
		t.Skip("NOT TESTED: RUNPLAN_BROWSER=none says that there is no Chromium")
	}
	tooltest.Missing(t, errors.New("Chromium is missing to look at the page with"), "install it: make browser")
	return ""
}

// tab is a page in the browser, without cookies of the pages before it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	trouble []string // what the console told
	calm    func(text string) bool
}

// running is the browser of all tests, from the first one that needs it on.
var running struct {
	ctx  context.Context
	stop func()
}

// browser starts the browser, or returns the one that runs.
func browser(t *testing.T) context.Context {
	t.Helper()
	if running.ctx == nil {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox,
			chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(patience))
		alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(alloc)
		if err := chromedp.Run(ctx); err != nil {
			stop()
			t.Fatal(err)
		}
		running.ctx, running.stop = ctx, func() { end(); stop() }
	}
	return running.ctx
}

// open opens an address. A warning or an error in its console fails the test.
func open(t *testing.T, url string, also ...chromedp.Action) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser(t))
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx, calm: func(string) bool { return false }}
	chromedp.ListenTarget(ctx, b.hear)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.trouble {
			if !b.calm(text) {
				t.Errorf("the console says: %s", text)
			}
		}
	})
	if err := chromedp.Run(ctx, log.Enable(), network.ClearBrowserCookies()); err != nil { // the tab lives as long as this context
		t.Fatal(err)
	}
	b.do(append(also, chromedp.Navigate(url))...)
	return b
}

func (b *tab) hear(event any) {
	say := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trouble = append(b.trouble, fmt.Sprintf(format, args...))
	}
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			say("%s %v", e.Type, e.Args)
		}
	case *runtime.EventExceptionThrown:
		say("exception: %s", e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			say("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *cdppage.EventJavascriptDialogOpening:
		say("a dialog opened: %s", e.Message)
		go chromedp.Run(b.ctx, cdppage.HandleJavaScriptDialog(true))
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.text())
	}
}

// text returns the visible text of the page.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	var text string
	if err := chromedp.Run(ctx, chromedp.Evaluate(`document.body.innerText`, &text)); err != nil {
		return "(the page cannot be read: " + err.Error() + ")"
	}
	return text
}

// eval returns the value of an expression.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(js, &v))
	return v
}

// until waits until an expression is true.
func (b *tab) until(js string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var ok bool
		ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		err := chromedp.Run(ctx, chromedp.Evaluate("!!("+js+")", &ok))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("it did not become true: %s (%v)\n%s", js, err, b.text())
		}
	}
}

// reads waits until the page contains a text.
func (b *tab) reads(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// follow clicks the link with this text, and waits until the linked page is loaded.
func (b *tab) follow(text string) {
	b.t.Helper()
	js := fmt.Sprintf(`[...document.querySelectorAll("main a, header a")].find(a => a instanceof HTMLElement && a.getClientRects().length && a.textContent.includes(%q))`, text)
	b.until(js)
	before := eval[string](b, "location.href")
	b.do(chromedp.Evaluate(js+".click()", nil))
	b.until(fmt.Sprintf("location.href !== %q && document.readyState === 'complete'", before))
}

// press clicks the button with this text inside an element.
func (b *tab) press(in, text string) {
	b.t.Helper()
	js := fmt.Sprintf(`[...document.querySelectorAll("%s button")].find(a => a.textContent.includes(%q))`, in, text)
	b.until(js)
	b.do(chromedp.Evaluate(js+".click()", nil))
}

// picture takes the screenshots of a page for the docs: in both themes, and on a phone.
func (b *tab) picture(name string) {
	b.t.Helper()
	b.look(name+"-light", 1200, false)
	b.look(name+"-dark", 1200, true)
	b.look(name+"-phone", 390, false)
	b.do(emulation.ClearDeviceMetricsOverride())
}

// look takes a screenshot for the docs.
func (b *tab) look(name string, width int64, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	var png []byte
	b.do(
		emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"}}),
		emulation.SetDeviceMetricsOverride(width, 900, 1, width < 600),
		chromedp.Evaluate("scrollTo(0, 0)", nil), chromedp.Sleep(300*time.Millisecond),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			_, _, _, _, _, size, err := cdppage.GetLayoutMetrics().Do(ctx)
			if err != nil {
				return err
			}
			height := min(size.Height, 1150)
			png, err = cdppage.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(
				&cdppage.Viewport{Width: float64(width), Height: max(height, 500), Scale: 1}).Do(ctx)
			return err
		}),
	)
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), small(b.t, png), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// said returns the non-empty lines of a text.
func said(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// awaited makes an evaluation wait for the value of a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// npmInstall installs a package into a folder of its own.
func npmInstall(dir, what string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-save", "--no-audit", "--no-fund",
		"--ignore-scripts", what)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm install %s: %w: %s", what, err, strings.Join(said(string(out)), "; "))
	}
	return nil
}
