package history

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/training"
)

var (
	// otherFiles matches subjects about files that an example does not show.
	otherFiles = lazyre.New(`(?i)\b(?:ci|workflows?|actions?|travis|appveyor|circleci|docker\w*|make ?file|read ?me|changelog|changes|release notes|man ?pages?|website|docs?|documentation|` +
		`git ?ignore|codeowners|authors|contributors|licen[cs]e|copyright|logo|badges?|dependabot|renovate|pre-commit|editorconfig|tox|setup\.cfg|pyproject|go\.mod|go\.sum|package\.json|requirements?|dependenc\w+)\b`)
	// byTool matches subjects of changes whose text a program made.
	byTool = lazyre.New(`(?i)\b(?:gofmt|go ?fmt|gofumpt|goimports|black|isort|yapf|autopep8|pyupgrade|ruff|flake8|pep-?8|eslint|prettier|xo|rustfmt|clippy|golint|golangci\S*|staticcheck|linter?|linting|reformat\w*|formatting|` +
		`sort imports|whitespaces?|indent\w*|trailing|line length|reorder\w*|go vet|gosec|codespell|misspell)\b`)
	// opinion matches subjects that name a direction and not a result.
	opinion = lazyre.New(`(?i)\b(?:clean-?ups?|correct(?:s|ed|ions?)?|refactor\w*|tid(?:y|ied|ying)|various|some|misc\w*|minor|small|nits?|typos?|spelling|` +
		`grammar|wording|rephras\w*|reword\w*|consisten\w*|inconsisten\w*|cosmetic|feedback|review|more tests?|add tests?|tests? for|coverage|comments?)\b`)
	// direction matches those for which the name of the code does not help: it says where, and not what.
	direction = lazyre.New(`(?i)\b(?:clean(?:ed|ing|s)?(?: up)?|polish\w*|improv\w*|enhanc\w*|tweak\w*|refactor\w*|rework\w*|better|nicer|smarter|smart|simplif\w*|moderni[sz]\w*|optimi[sz]\w*|performance|` +
		`more (?:accurate|consistent|correct|defensive|efficient|flexible|generic|precise|readable|reliable|robust|specific|standard|strict)|a (?:bit|little)|behaviou?rs? of)\b`)
	// discussion matches links to comments of a review.
	discussion = lazyre.New(`#(?:discussion_)?r\d{6,}|#commitcomment-`)
	link       = lazyre.New("https?://[^\\s'\"`<>()\\[\\]]+")
	// figure matches numbers that two authors rarely choose independently.
	figureRE = lazyre.New(`\b\d[\d_]*(?:\.\d+)*\b`)
)

// fewWordsOfBody is the number of words from which the body of a message explains its subject.
const fewWordsOfBody = 8

// untaught returns why a commit does not match its task, or why its task is unclear, or "". It checks for common
// faults of examples: a task about files that are not code, the output of a program, a matter of taste, what only a
// review says, code that is commented out, and a change of which the task tells nothing or little.
func (w *work) untaught(q query) string {
	subject, body, _ := strings.Cut(q.text, "\n")
	named := len(q.files)+len(q.symbols) > 0
	explained := len(letters(link.ReplaceAllString(body, ""))) >= fewWordsOfBody
	switch {
	case len(w.changes) < len(w.Entries) && otherFiles.MatchString(subject) && !named:
		return "the task is about files that are not code"
	case byTool.MatchString(subject):
		return "a program wrote the change"
	case opinion.MatchString(subject) && !named && !explained,
		direction.MatchString(withoutPrefix(subject)) && !explained:
		return "the task does not describe the result"
	case discussion.MatchString(q.text):
		return "a review says what to do"
	case !slices.ContainsFunc(w.changes, func(c *change) bool { return !forExample(c.path) }):
		return "only examples of the use change"
	case !named && slices.ContainsFunc(w.changes,
		func(c *change) bool { return path.Base(c.path) == "conf.py" || path.Base(c.path) == "setup.py" }) &&
		otherFiles.MatchString(subject):
		return "the task is about settings of tools"
	case slices.ContainsFunc(w.Entries, func(e git.Entry) bool {
		return outline.LanguageOf(e.Path) != "" && !slices.Contains(w.bundles, e.Path) &&
			!slices.ContainsFunc(w.changes, func(c *change) bool { return c.path == e.Path })
	}):
		return "a file of code that it changes is not shown"
	case w.commentsOut():
		return "it comments code out"
	case w.idle():
		return "only blank lines and empty lines of comments change"
	case !w.related():
		return "no word of the task is in or near most of the change"
	}
	if share, _, _ := w.toldShare(); share < leastTold {
		return "the task tells too little of its change"
	}
	return ""
}

// forExample reports whether a file is in a folder of examples. Which examples to show is the choice of an author.
func forExample(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		dir = strings.Trim(dir, "_")
		return dir == "example" || dir == "examples"
	})
}

// commentsOut reports whether a hunk turns lines of code into comments.
func (w *work) commentsOut() bool {
	for _, c := range w.changes {
		if c.before == nil || c.after == nil {
			continue
		}
		for _, h := range c.hunks {
			old := map[string]bool{}
			for l := range strings.Lines(c.old(h)) {
				if l = strings.TrimSpace(l); len(l) > 8 {
					old[l] = true
				}
			}
			n := 0
			for l := range strings.Lines(c.now(h)) {
				l = strings.TrimSpace(l)
				if rest := strings.TrimSpace(strings.TrimLeft(l, "/#")); rest != l && old[rest] {
					n++
				}
			}
			if n > 1 {
				return true
			}
		}
	}
	return false
}

// idle reports whether a change only adds or removes blank lines and empty lines of comments.
func (w *work) idle() bool {
	full := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.Trim(l, " \t*/#") == "" })
	}
	return !slices.ContainsFunc(w.changes, func(c *change) bool {
		return slices.ContainsFunc(c.hunks, func(h linediff.Hunk) bool { return !slices.Equal(full(c.old(h)), full(c.now(h))) })
	})
}

// asked returns the words of the task that say something about a change.
func (w *work) asked() map[string]bool {
	asked := map[string]bool{}
	chunks.EachWord(w.task, func(s string) {
		if len(s) > 2 && !emptyWords.Has(s) && !stopWords.Has(s) {
			asked[s] = true
		}
	})
	return asked
}

// leastTold is the smallest share of words of the task for which a change makes an example.
const leastTold = 0.15

// toldShare returns how much of a change its task tells: words of the task for each word of the changed lines. It halves
// the share if only tests change, because a task rarely names their cases.
func (w *work) toldShare() (share float64, asked, changed int) {
	words, tests := map[string]bool{}, true
	for _, c := range w.changes {
		tests = tests && language.IsTest(c.path)
		for _, h := range c.hunks {
			chunks.EachWord(c.old(h)+"\n"+c.now(h), func(s string) {
				if len(s) > 2 {
					words[s] = true
				}
			})
		}
	}
	n := len(w.asked())
	share = min(1, float64(1+n)/float64(1+len(words)))
	if tests {
		share /= 2
	}
	return share, n, len(words)
}

// told is the signal for [work.toldShare]. The fourth root spreads the values, so that those below 0.5 are rare.
// docs/training.md says how well it sorts judged examples.
func (w *work) told() training.Signal {
	share, asked, changed := w.toldShare()
	return signal(told, math.Pow(share, 0.25),
		fmt.Sprintf("%d words of the task stand for %d words of the changed lines", asked, changed))
}

// told is the name of the signal by which the mean of the others is multiplied.
const told = "told"

// relatedShare is the share of the hunks that need a word of the task.
const relatedShare = 0.3

// related reports whether words of the task are in the changed lines, in the path, or in the names around them.
func (w *work) related() bool {
	asked := w.asked()
	has := func(text string) bool {
		found := false
		chunks.EachWord(text, func(s string) { found = found || asked[s] })
		return found
	}
	hunks, near := 0, 0
	for _, c := range w.changes {
		inPath := has(c.path)
		for _, h := range c.hunks {
			hunks++
			text := c.old(h) + "\n" + c.now(h)
			if c.after != nil {
				for i := range c.after.symbols {
					if s := &c.after.symbols[i]; s.start <= h.NewTo && h.NewFrom+1 <= s.end {
						text += "\n" + s.name
					}
				}
			}
			if inPath || has(text) {
				near++
			}
		}
	}
	return hunks == 0 || near > 0 && float64(near) >= relatedShare*float64(hunks)
}

// Limits of the prose and the figures in an answer that are not in its prompt.
const (
	mostProse    = 14  // words of comments and texts
	shareOfProse = 0.5 // of all words of comments and texts
	longFigure   = 3   // digits
)

// invented returns why only the author could know comments, texts and figures of an answer, or "". Tests may choose
// their own.
func (w *work) invented(known map[string]bool, prompt string) string {
	prose, fresh := map[string]bool{}, 0
	for _, c := range w.changes {
		for _, h := range c.hunks {
			text := c.now(h)
			if !language.IsTest(c.path) {
				for _, n := range figureRE.FindAllString(text, -1) {
					if len(n) >= longFigure && !strings.Contains(prompt, n) && strings.Trim(n, "10_.") != "" {
						return "a figure of its answer is not in the prompt"
					}
				}
				for _, l := range link.FindAllString(text, -1) {
					if !strings.Contains(prompt, strings.TrimRight(l, ".,;:")) {
						return "a link of its answer is not in the prompt"
					}
				}
			}
			bare := map[string]bool{}
			chunks.EachWord(bareCode(text, strings.HasSuffix(c.path, ".py")), func(s string) { bare[s] = true })
			chunks.EachWord(text, func(s string) {
				if len(s) > 3 && !bare[s] && !prose[s] {
					if prose[s] = true; !known[s] {
						fresh++
					}
				}
			})
		}
	}
	if fresh > mostProse && float64(fresh) > shareOfProse*float64(len(prose)) {
		return "its comments and texts cannot be derived: most of their words are not in the prompt"
	}
	return ""
}
