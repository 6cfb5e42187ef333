package web

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A stream sends only the parts that changed; a browser with another version is told to reload the page.
func TestStreamSendsChangedParts(t *testing.T) {
	var state atomic.Int64
	state.Store(1)
	parts := func() []Part {
		n := state.Load()
		p := []Part{{ID: "a", HTML: "<p id=a>same</p>"}, {ID: "b", HTML: fmt.Sprintf("<p id=b>%d</p>", n)}}
		if n > 2 {
			p = p[1:]
		}
		return p
	}
	var streams Streams
	s := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams.Serve(w, r, func(context.Context, string) (Look, error) {
			return Look{Stamp: fmt.Sprint(state.Load()), Parts: parts()}, nil
		})
	}))
	cookie, _ := cookieOf(t, s)
	version := Version(parts())
	listen := func(v string) *bufio.Reader {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.guard.address+"/?v="+v, nil)
		req.Header.Set("Cookie", cookie)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return bufio.NewReader(res.Body)
	}
	next := func(r *bufio.Reader) string {
		text := ""
		for !strings.HasSuffix(text, "\n\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			text += line
		}
		return text
	}
	r := listen(version)
	if got := next(r); !strings.Contains(got, "event: hello") {
		t.Errorf("got %q", got)
	}
	state.Store(2)
	if got := next(r); !strings.Contains(got, `data: {"parts":[{"id":"b","html":"\u003cp id=b\u003e2\u003c/p\u003e"}]}`) {
		t.Errorf("got %q", got)
	}
	state.Store(3)
	if got := next(r); !strings.Contains(got, `{"id":"a","gone":true}`) {
		t.Errorf("got %q", got)
	}
	late := listen(version)
	next(late)
	if got := next(late); !strings.Contains(got, "event: stale") {
		t.Errorf("got %q", got)
	}
}

// cookieOf signs a browser in without loading a page.
