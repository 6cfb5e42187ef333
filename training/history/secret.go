package history

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/secrets"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/knowledge/outline"
)

// sentry finds secrets by the rules of the gate that keeps them out of commits, and by the redactor.
type sentry struct {
	gate   gates.Gate
	dir    string
	redact func(string) string
}

// newSentry makes one. dir is a folder that is there: the gate asks for one, though it reads nothing in it.
func newSentry(dir string, redact func(string) string) sentry {
	return sentry{secrets.New(), dir, redact}
}

// hide takes out what looks like a secret.
func (s sentry) hide(text string) string {
	text = fence.Hide(text)
	if s.redact != nil {
		text = s.redact(text)
	}
	return text
}

// hints are in each line that the gate may find a secret in, in small letters: all others need no look.
var hints = []string{
	"passw", "passphrase", "secret", "token", "key", "credential", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
	"hooks.slack", "aiza", "gocspx-", "k_live_", "k_test_", "whsec_", "sk-", "npm_", "pypi-", "eyj", "://",
}

// suspicious are the lines of a text that are worth a look.
func suspicious(text string) string {
	var b strings.Builder
	small := strings.ToLower(text)
	if !slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(small, h) }) {
		return ""
	}
	for line := range strings.Lines(text) {
		small := strings.ToLower(line)
		for _, h := range hints {
			if strings.Contains(small, h) {
				b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
				break
			}
		}
	}
	return b.String()
}

// text is something that may hold a secret, as a file of that path.
type text struct{ path, text string }

// look tells which of the texts hold a secret, wherever it stands in them. A key in a folder of fixtures is one as well here:
// what is learnt is not known to be a sample.
func (s sentry) look(ctx context.Context, all []text) ([]bool, error) {
	out := make([]bool, len(all))
	ask := make([]text, len(all))
	err := parallel(ctx, len(all), func(i int) error {
		if out[i] = s.hide(all[i].text) != all[i].text; out[i] {
			return nil
		}
		lines := all[i].text
		if outline.LanguageOf(all[i].path) != "" { // of others, the name alone may say that it holds secrets
			lines = suspicious(lines)
		}
		ask[i] = text{itoa(i) + "/" + all[i].path, lines} // versions of a file share its path
		return nil
	})
	if err != nil {
		return nil, err
	}
	d := addition{}
	for _, t := range ask {
		if t.text != "" {
			d[t.path] = t.text
		}
	}
	if len(d) == 0 {
		return out, nil
	}
	r, err := s.gate.Check(ctx, gates.Subject{Dir: s.dir, Diff: d, Changed: slices.Sorted(maps.Keys(d))})
	if err != nil {
		return nil, err
	}
	for _, f := range r.Findings {
		n, _, _ := strings.Cut(f.Path, "/")
		if i, err := strconv.Atoi(n); err == nil && f.Rule != "secrets/private-host" && f.Rule != "secrets/not-looked-at" {
			out[i] = true
		}
	}
	return out, nil
}

// sources looks at those versions of files that nobody has looked at.
func (s sentry) sources(ctx context.Context, all []*source) error {
	var fresh []*source
	var texts []text
	for _, x := range all {
		if x.secret == nil && !slices.Contains(fresh, x) {
			fresh, texts = append(fresh, x), append(texts, text{x.path, x.text})
		}
	}
	found, err := s.look(ctx, texts)
	for i, x := range fresh {
		if err == nil {
			x.secret = &found[i]
		}
	}
	return err
}

// addition is a change that adds files.
type addition map[string]string

// Changes lists the files.
func (a addition) Changes(context.Context) ([]gates.Change, error) {
	var out []gates.Change
	for _, p := range slices.Sorted(maps.Keys(a)) {
		out = append(out, gates.Change{Path: p, Status: gates.Added})
	}
	return out, nil
}

// Before is nothing.
func (a addition) Before(context.Context, string) ([]byte, error) { return nil, nil }

// After is the text of a file.
func (a addition) After(_ context.Context, path string) ([]byte, error) { return []byte(a[path]), nil }
