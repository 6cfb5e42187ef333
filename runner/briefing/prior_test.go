package briefing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// Existing code that a batch asks for is found in any spelling. A single word of several, a part of a word, files
// that the batch names itself, and the plan are not prior art. (RUN-13)
func TestPriorArt(t *testing.T) {
	r := newRepository(t)
	at := r.commit("start", map[string]string{
		"net/throttle.go": "package net\n\n// RateLimiter holds callers back.\ntype RateLimiter struct{}\n\nfunc (l " +
			"*RateLimiter) Allow() bool { return true }\n",
		"net/client.go":      "package net\n\nfunc Get(l *RateLimiter) {}\n",
		"py/limits.py":       "def rate_limit(n):\n    pass\n",
		"py/generate.py":     "def generate_limited():\n    pass\n",
		"docs/limits.md":     "Rate limits are on by default.\n",
		"docs/plans/plan.md": "## Batch 1: Add a rate limiter to the server\n",
		"server/server.go":   "package server\n\ntype RateLimiter int\n",
		"made.js":            "var rateLimiter=" + strings.Repeat("x", 2*refLineLength) + "\n",
		".runplan/prompts/x": "rate limiter\n",
		"other.go":           "package other\n\nfunc Rate() {}\n",
	})
	b := planparse.Batch{
		Title: "Add a rate limiter to the server", Files: planparse.Files{Modify: []string{"server/server.go"}},
		Text: "Callers have to wait.\n\n```go\ntype RateLimiter struct {\n\tlast time.Time\n}\n```\n",
	}
	found := func(b planparse.Batch, plan string) (out []string) {
		t.Helper()
		list, err := priorArt(t.Context(), r.Repo, at, b, plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			out = append(out, p.line())
		}
		return out
	}
	want := []string{
		"net/throttle.go:4: type RateLimiter struct{}", "net/throttle.go:3: // RateLimiter holds callers back.",
		"net/client.go:3: func Get(l *RateLimiter) {}", "py/limits.py:1: def rate_limit(n):",
		"docs/limits.md:1: Rate limits are on by default.",
	}
	if d := cmp.Diff(want, found(b, "docs/plans/plan.md")); d != "" {
		t.Error(d)
	}
	for name, b := range map[string]planparse.Batch{
		"nothing like it":       {Title: "Draw a spectrogram", Text: "With colours."},
		"words of the prose":    {Title: "Draw a spectrogram", Text: "The rate is limited."},
		"a title without words": {Title: "Batch 3", Text: "It."},
	} {
		if got := found(b, ""); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The block shows only a limited number of matches, and always the same ones.
func TestPriorArtIsLimited(t *testing.T) {
	r := newRepository(t)
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("f%02d.go", i)] = strings.Repeat("// the cache of sessions\n", 50) + "func SessionCache() {}\n"
	}
	at := r.commit("start", files)
	b := planparse.Batch{Title: "Cache the sessions"}
	first, err := priorArt(t.Context(), r.Repo, at, b, "")
	if err != nil || len(first) != priorLines {
		t.Fatalf("%v, %d lines", err, len(first))
	}
	if first[0].line() != "f00.go:51: func SessionCache() {}" {
		t.Errorf("a definition does not come first: %s", first[0].line())
	}
	for range 5 {
		again, err := priorArt(t.Context(), r.Repo, at, b, "")
		if d := cmp.Diff(first, again); d != "" || err != nil {
			t.Fatal(err, d)
		}
	}
}

// A partial clone is not searched, because git would fetch all its files; the brief says so.
func TestPriorArtSkipsPartialClones(t *testing.T) {
	r := newRepository(t)
	at := r.commit("start", map[string]string{"a.go": "func SessionCache() {}\n"})
	if err := os.WriteFile(filepath.Join(r.Common, "objects", "pack", "pack-1.promisor"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := Gather(t.Context(),
		Sources{Input: Input{Batch: planparse.Batch{Title: "Cache the sessions"}}, Repo: r.Repo, Commit: at})
	if err != nil || in.Prior != nil || len(in.Unread) != 1 ||
		!strings.Contains(Compose(in).Block, "existing code: a partial clone does not have all files") {
		t.Errorf("%v %+v", err, in)
	}
}
