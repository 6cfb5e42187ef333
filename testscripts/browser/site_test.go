package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The documentation site loads only its own files, its search works without a network, its menu opens on a phone, no
// page needs horizontal scrolling, and axe-core finds nothing serious on a sample of pages, light or dark (SITE-03).
func TestSiteInBrowser(t *testing.T) {
	axe := axeCore(t)
	site := t.TempDir()
	build := exec.Command("go", "run", "./tools/site", "-out", site)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server, requests := serveSite(t, site)
	b := open(t, "about:blank", network.Enable())
	chromedp.ListenTarget(b.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, server.URL) &&
			!strings.HasPrefix(e.Request.URL, "data:") {
			t.Errorf("asks for %s", e.Request.URL)
		}
	})
	for _, page := range []struct {
		name  string
		axe   bool // axe-core takes minutes for thousands of lines
		width int64
	}{
		{"tutorial", true, wide}, {"tutorial", false, phone}, {"plan-format", false, phone}, {"rules", true, wide},
		{"sandbox", true, phone}, {"compare", true, wide}, {"cli", false, wide}, {"cli", false, phone},
	} {
		requests.Store(0)
		b.do(emulation.SetDeviceMetricsOverride(page.width, 900, 1, false),
			chromedp.Navigate(server.URL+"/"+page.name+".html"))
		if n := requests.Load(); n > 4 {
			t.Errorf("%s: %d requests", page.name, n)
		}
		if eval[bool](b, "document.documentElement.scrollWidth > innerWidth") {
			t.Errorf("%s, %d wide: it has to be moved sideways", page.name, page.width)
		}
		for _, scheme := range []string{"light", "dark"} {
			b.do(emulation.SetEmulatedMedia().WithFeatures(
				[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			b.siteShot(fmt.Sprintf("%s-%s-%d", page.name, scheme, page.width))
			if !page.axe {
				continue
			}
			if found := violations(b, axe); found != "" {
				t.Errorf("%s, %s, %d wide:\n%s", page.name, scheme, page.width, found)
			}
		}
	}
	b.do(emulation.SetDeviceMetricsOverride(phone, 900, 1, true), chromedp.Navigate(server.URL+"/tutorial.html"))
	if eval[bool](b, `document.getElementById("pages").open`) {
		t.Error("the menu covers a phone's screen before anyone opens it")
	}
	b.do(chromedp.Focus("nav summary"), chromedp.KeyEvent(kb.Enter),
		chromedp.Click(`nav details a[href="sandbox.html"]`, chromedp.NodeVisible))
	b.until(`location.pathname === "/sandbox.html" && document.readyState === "complete"`)
	server.Close()
	b.do(chromedp.SendKeys("#search", "merge queue"))
	b.until(`[...document.querySelectorAll("#found a")].some(a => a.getAttribute("href").startsWith("team-mode.html"))`)
	b.do(chromedp.SendKeys("#search", " zzyzx"))
	b.until(`document.getElementById("found").innerText === "nothing found"`)
}

// wide and phone are screen widths in CSS pixels.
const wide, phone = 1280, 390

// serveSite serves a folder and counts the requests of the pages.
func serveSite(t *testing.T, site string) (*httptest.Server, *atomic.Int64) {
	var requests atomic.Int64
	files := http.FileServer(http.Dir(site))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" { // browsers ask for it on their own
			w.WriteHeader(http.StatusNoContent)
			return
		}
		requests.Add(1)
		if _, err := os.Stat(filepath.Join(site, filepath.FromSlash(r.URL.Path))); err != nil {
			t.Errorf("asks for %s: %v", r.URL.Path, err)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &requests
}

// siteShot saves a screenshot in the folder RUNPLAN_SITE_SHOTS if that variable is set.
func (b *tab) siteShot(name string) {
	b.t.Helper()
	shots := os.Getenv("RUNPLAN_SITE_SHOTS")
	if shots == "" {
		return
	}
	var png []byte
	b.do(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(shots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
