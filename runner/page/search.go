package page

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/journal"
)

type searchView struct {
	Run, RunTitle, Query string
	Findings             []foundIn
	Lines                []lineIn
	Notes                []string // files that were not searched
	Read                 string
}

// foundIn is a finding with the attempt that has it.
type foundIn struct {
	Where, Href, Gate string
	found
}

// lineIn is a line of a log with its text around the hit.
type lineIn struct {
	Where, Href, File   string
	Line                int
	Before, Hit, Behind string
}

// Limits of a search.
const (
	maxHits     = 200      // of findings and of lines
	maxSearched = 64 << 20 // bytes of logs
	maxLogLine  = 1 << 20
	aroundHit   = 120 // bytes
)

// attemptOf matches the folder of an attempt below the logs of a run, and that of a candidate.
var attemptOf = lazyre.New(`^(.+)-a([0-9]+)/(?:c([0-9]+)/)?`)

// batchesOf are the names of the batches of a run, by key.
type batchesOf map[string]string

// place returns the name and the page of an attempt.
func (b batchesOf) place(key string, attempt, candidate string) (where, href string) {
	name, ok := b[key]
	if !ok {
		return "", ""
	}
	where = "batch " + name
	q := url.Values{}
	if attempt != "" && attempt != "0" {
		where += ", attempt " + attempt
		q.Set("a", attempt)
	}
	if candidate != "" && candidate != "0" {
		where += ", candidate " + candidate
		q.Set("c", candidate)
	}
	return where, batchHref(key) + "?" + q.Encode()
}

func (s *site) showSearch(w http.ResponseWriter, r *http.Request, run string) error {
	v := searchView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	names := batchesOf{}
	var journal *store.Journal
	err := s.hub.with(r.Context(), run, func(w *watch) error {
		sum := w.printer.Standing().Summary
		v.Run, v.RunTitle, journal = run, cmp.Or(sum.Title, sum.Plan, run), s.hub.journal
		for _, b := range sum.Batches {
			names[b.Key] = b.Number
		}
		return nil
	})
	if err == nil && v.Query != "" {
		want := strings.ToLower(v.Query)
		if err = v.findings(r.Context(), journal, run, names, want); err == nil {
			err = v.logs(r.Context(), s.Layout, run, names, want)
		}
	}
	if err == nil {
		s.show(w, r, "search", sheet{Title: "Search in " + v.RunTitle, Section: "runs", View: v}, nil)
	}
	return err
}

// findings searches the findings of gates and reviews. The same finding of a batch is listed once.
func (v *searchView) findings(ctx context.Context, j *store.Journal, run string, names batchesOf, want string) error {
	seen := map[string]bool{}
	for e, err := range journal.Events(ctx, j, run, 0) {
		if err != nil {
			return err
		}
		for _, r := range e.Reports {
			for _, f := range r.Findings {
				text := strings.Join([]string{r.Gate, f.Rule, fmt.Sprintf("%s:%d", f.Path, f.Line), f.Message, f.Fix,
					string(f.Severity)}, "\n")
				if !strings.Contains(strings.ToLower(text), want) || seen[e.Batch+"\n"+text] {
					continue
				}
				seen[e.Batch+"\n"+text] = true
				if len(v.Findings) == maxHits {
					v.Notes = append(v.Notes, fmt.Sprintf("There are more than %d findings; search for more of the text.", maxHits))
					return nil
				}
				v.Findings = append(v.Findings, names.found(e.Batch, e.Attempt, e.Candidate, r.Gate, f))
			}
		}
	}
	return nil
}

func (b batchesOf) found(key string, attempt, candidate int, gate string, f gates.Finding) foundIn {
	out := foundIn{Gate: gate, found: found{Finding: f}}
	out.Where, out.Href = b.place(key, fmt.Sprint(attempt), fmt.Sprint(candidate))
	out.Where = cmp.Or(out.Where, "the run")
	return out
}

// logs searches the files of a run's logs: output of agents and gates, and the briefs.
func (v *searchView) logs(ctx context.Context, l journal.Layout, run string, names batchesOf, want string) error {
	root, err := os.OpenRoot(l.Logs(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxSearched)
	files := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			v.Notes = append(v.Notes, fmt.Sprintf("%s cannot be read: %v", name, err))
			return nil
		case !d.Type().IsRegular():
			return nil
		case left <= 0 || len(v.Lines) >= maxHits:
			return fs.SkipAll
		}
		files++
		n, err := v.file(root, name, names, want, left)
		if left -= n; err != nil {
			v.Notes = append(v.Notes, fmt.Sprintf("%s cannot be read: %v", name, err))
		}
		return nil
	})
	v.Read = fmt.Sprintf("%s of logs, %d KiB", phrase.Count(files, "file"), (maxSearched-left)>>10)
	switch {
	case left <= 0:
		v.Notes = append(v.Notes, fmt.Sprintf("Only the first %d MiB of the logs were searched.", maxSearched>>20))
	case len(v.Lines) >= maxHits:
		v.Notes = append(v.Notes, fmt.Sprintf("Only the first %d lines are shown; search for more of the text.", maxHits))
	}
	return err
}

// file searches one file, up to most bytes. It returns the number of bytes read.
func (v *searchView) file(root *os.Root, name string, names batchesOf, want string, most int64) (int64, error) {
	f, err := root.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := &io.LimitedReader{R: f, N: most}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLogLine)
	exact := regexp.MustCompile("(?i)" + regexp.QuoteMeta(want)) // a letter may have more bytes in lower case
	for n := 1; lines.Scan() && len(v.Lines) < maxHits; n++ {
		text := uncoloured(lines.Text())
		if !strings.Contains(strings.ToLower(text), want) { // much faster than the expression
			continue
		}
		at := exact.FindStringIndex(text)
		if at == nil {
			continue
		}
		hit := lineIn{File: path.Clean(name), Line: n, Where: "the run"}
		if m := attemptOf.FindStringSubmatch(name); m != nil {
			hit.Where, hit.Href = names.place(m[1], m[2], m[3])
		}
		hit.Before, hit.Hit, hit.Behind = around(text, at[0], at[1])
		v.Lines = append(v.Lines, hit)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		v.Notes = append(v.Notes,
			fmt.Sprintf("%s has a line of more than %d MiB; it was not searched from there on.", name, maxLogLine>>20))
	} else if err != nil {
		return most - in.N, err
	}
	return most - in.N, nil
}

// around returns a hit with the text on both sides of it, cut to a length.
func around(text string, start, end int) (before, hit, behind string) {
	from, to := max(0, start-aroundHit), min(len(text), end+aroundHit)
	before, hit, behind = text[from:start], text[start:end], text[end:to]
	if from > 0 {
		before = "…" + before
	}
	if to < len(text) {
		behind += "…"
	}
	clean := func(s string) string { return strings.ToValidUTF8(s, "") }
	return clean(before), clean(hit), clean(behind)
}
