package browser

import (
	"fmt"
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
	b := open(t, "about:blank", network.Enable())
	requests, size := 0, int64(0)
	chromedp.ListenTarget(b.ctx, func(event any) {
		e, ok := event.(*network.EventRequestWillBeSent)
		if !ok || strings.HasPrefix(e.Request.URL, "data:") {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		file, inside := strings.CutPrefix(e.Request.URL, "file://")
		file, _, _ = strings.Cut(file, "#")
		info, err := os.Stat(file)
		if !inside || !strings.HasPrefix(file, site) || err != nil {
			t.Errorf("asks for %s (%v)", e.Request.URL, err)
			return
		}
		requests++
		size += info.Size()
	})
	for _, name := range []string{"index", "cli", "plan-format", "requirements", "serve", "ARCHITECTURE"} {
		requests, size = 0, 0
		b.do(chromedp.Navigate("file://" + filepath.Join(site, name+".html")))
		t.Logf("%s: %d requests, %d kB", name, requests, size/1000)
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					emulation.SetDeviceMetricsOverride(width, 900, 1, false))
				if eval[bool](b, "document.documentElement.scrollWidth > innerWidth") {
					t.Errorf("%s, %d wide: it has to be moved sideways", name, width)
				}
				if shots := os.Getenv("RUNPLAN_SITE_SHOTS"); shots != "" {
					var png []byte
					b.do(chromedp.CaptureScreenshot(&png))
					if err := os.WriteFile(filepath.Join(shots, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)), png, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if found := violations(b, axe); found != "" {
					t.Errorf("%s, %s, %d wide:\n%s", name, scheme, width, found)
				}
			}
		}
	}
	b.do(chromedp.Navigate("file://"+filepath.Join(site, "index.html")), chromedp.SendKeys("#search", "merge queue"))
	b.until(`document.querySelector("#found a")?.getAttribute("href").endsWith(".html") || document.querySelectorAll("#found a").length > 1`)
}
