package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// The site of the documents asks for nothing but its own files, its search finds, no page has to be moved sideways, and
// axe-core finds nothing serious, light or dark, wide or narrow (SITE-03).
func TestSiteInABrowser(t *testing.T) {
	axe := axeCore(t)
	site := t.TempDir()
	build := exec.Command("go", "run", "./tools/site", "-out", site)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	requests, size := 0, 0
	files := http.FileServer(http.Dir(site))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" { // browsers ask for it on their own
			w.WriteHeader(http.StatusNoContent)
			return
		}
		requests++
		info, err := os.Stat(filepath.Join(site, filepath.FromSlash(r.URL.Path)))
		if err != nil {
			t.Errorf("asks for %s: %v", r.URL.Path, err)
			return
		}
		size += int(info.Size())
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := open(t, "about:blank", network.Enable())
	chromedp.ListenTarget(b.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, server.URL) &&
			!strings.HasPrefix(e.Request.URL, "data:") {
			t.Errorf("asks for %s", e.Request.URL)
		}
	})
	for _, name := range []string{"tutorial.html", "cli.html", "plan-format.html", "sandbox.html", "compare.html"} {
		requests, size = 0, 0
		b.do(chromedp.Navigate(server.URL + "/" + name))
		t.Logf("%s: %d requests, %d kB", name, requests, size/1000)
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				b.do(emulation.SetEmulatedMedia().WithFeatures(
					[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					emulation.SetDeviceMetricsOverride(width, 900, 1, false))
				if eval[bool](b, "document.documentElement.scrollWidth > innerWidth") {
					t.Errorf("%s, %d wide: it has to be moved sideways", name, width)
				}
				if shots := os.Getenv("RUNPLAN_SITE_SHOTS"); shots != "" {
					var png []byte
					b.do(chromedp.CaptureScreenshot(&png))
					if err := os.WriteFile(filepath.Join(shots, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)), png,
						0o644); err != nil {
						t.Fatal(err)
					}
				}
				if size > 350_000 {
					continue // axe-core takes minutes for thousands of lines, which are made like those of the others
				}
				if found := violations(b, axe); found != "" {
					t.Errorf("%s, %s, %d wide:\n%s", name, scheme, width, found)
				}
			}
		}
	}
	b.do(chromedp.Navigate(server.URL+"/tutorial.html"), chromedp.SendKeys("#search", "merge queue"))
	b.until(`document.querySelector("#found a")?.getAttribute("href").endsWith(".html") || document.querySelectorAll("#found a").length > 1`)
}
