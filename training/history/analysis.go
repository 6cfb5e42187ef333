package history

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
)

// analysed is the answer to the analysis of a task, with the fields of that stage.
type analysed struct {
	Intent   string   `json:"intent"`
	Kind     string   `json:"task_type"`
	Concepts []string `json:"concepts"`
	Symbols  []string `json:"symbols"`
	Domain   string   `json:"domain"`
	Module   string   `json:"module"`
}

// analysis teaches what a task is about: the message is the task, and the answer follows from the message and the
// changes of the commit (TRAIN-12). It has only what a reader of the task can know.
func (m *maker) analysis(w *work, q query) (lesson, string) {
	if !clearKind(q) || w.onlyTests() && q.kind != retrieve.Testing {
		return lesson{}, "the task does not say which kind of task it is"
	}
	if !tellsIntent(q) {
		return lesson{}, "its first line says too little of the task"
	}
	concepts := w.concepts()
	if len(concepts) == 0 || len(concepts) == 1 && !strings.Contains(concepts[0], " ") {
		return lesson{}, "the task has too few terms"
	}
	a := analysed{Intent: q.intent, Kind: string(q.kind), Concepts: concepts, Symbols: w.suggested(q),
		Module: w.module(m.repo)}
	prompt, err := m.Retrieval.Render("task_analysis", map[string]string{
		"overview": w.tree.overview(), "task": q.fenced, "files": retrieve.Listed(q.files, 30),
		"symbols": retrieve.Listed(q.symbols, 30),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	texts := w.before()
	return lesson{prompt: prompt, completion: marshal(a), texts: texts, signals: []training.Signal{
		training.Known("files_known_before", float64(len(texts))/float64(len(w.changes)),
			fmt.Sprintf("%d of %d changed files existed", len(texts), len(w.changes))),
	}}, ""
}

var (
	// issueMarks match what a first line says about issues and not about the task: "Fix #12: ", " (fixes #12) (#13)".
	issueStart = lazyre.New(`^(?:\[[^\]\n]{1,20}\]\s*)+|^(?i:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|issue|bug|gh)\b\s*)?(?:(?:[\w.-]+/[\w.-]+)?#|GH-)\d+\s*[:,-]?\s+`)
	issueEnd   = lazyre.New(`(?:[\s,]*\(?(?i:\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|issue|bug)\b:?\s+)?(?:(?:[\w.-]+/[\w.-]+)?#\d+|[A-Z]{2,10}-\d+)(?:,?\s+(?:and\s+)?#\d+)*\)?)+\.?$`)
	typePrefix = lazyre.New(`^(?i:fix|fixes|new|update|upgrade|breaking|feat|docs?|build|chore|refactor|perf|tests?|style|ci)(?:\([^)\n]{1,60}\))?!?:\s+`)
	ofFault    = lazyre.New(`^(?:\[[^\]\n]{1,20}\]\s*)*(?i:fix(?:e[sd])?|close[sd]?|resolve[sd]?|bug)\b`)
	fault      = lazyre.New(`(?i)\b(?:fix(?:e[sd]|ing)?|bugs?|incorrect(?:ly)?|wrong(?:ly)?|crash(?:es|ed)?|broken|breaks|regressions?|fail(?:s|ed|ing|ures?)?|closes? #\d+)\b`)
	ofDocs     = lazyre.New(`(?i)\b(?:docs|documentation|docstrings?|typos?)\b`)
	ofTests    = lazyre.New(`(?i)\btest(?:s|ing|case\w*)?\b`)
	kindStart  = lazyre.New(`^(?i:fix|feat|feature|new|docs?|refactor|perf|tests?|chore|build|ci|style)(?:\([^)\n]{1,60}\))?!?:\s`)
)

// intentOf returns what a message says has to be done: its first line without numbers of issues and types such as
// "fix(parser): ". If it only says what is wrong, that has to be fixed.
func intentOf(message string) string {
	subject, rest, _ := strings.Cut(message, "\n")
	subject = strings.TrimSpace(subject)
	if last := strings.ToLower(subject[strings.LastIndexByte(subject, ' ')+1:]); emptyWords.Has(last) ||
		stopWords.Has(last) {
		more, _, _ := strings.Cut(rest, "\n") // the sentence goes on in the next line
		subject = strings.TrimSpace(subject + " " + strings.TrimSpace(more))
	}
	said := bareSubject(subject)
	first, _, _ := strings.Cut(strings.ToLower(said), " ")
	switch {
	case utf8.RuneCountInString(said) < leastChars:
		said = subject
	case said != subject && ofFault.MatchString(subject) && !actions.Has(first) && !moreActions.Has(first) &&
		!strings.HasSuffix(first, "ly"):
		said = "Fix: " + said // it says what is wrong
	}
	return phrase.Cut(fence.Line(said), 400)
}

// bareSubject returns the first line of a message without numbers of issues and types such as "fix(parser): ".
func bareSubject(subject string) string {
	said := issueEnd.ReplaceAllString(issueStart.ReplaceAllString(strings.TrimSpace(subject), ""), "")
	return typePrefix.ReplaceAllString(strings.TrimSpace(said), "")
}

// clearKind reports whether a task says at its start which kind it is: by a type such as "feat: ", or by its first
// word. Other words of kinds may be about something else, such as "move" in "only move the window if it is open", and a
// task may raise an error or a version, make a function work, add a comment, or add what was wrong without it. "chore:
// " may be of any kind.
func clearKind(q query) bool {
	first, _, _ := strings.Cut(withoutPrefix(q.intent), " ")
	kind := retrieve.KindOf(first)
	switch {
	case q.kind != retrieve.Docs && ofDocs.MatchString(q.text):
		return false
	case kindStart.MatchString(q.text):
		return q.kind != retrieve.Other
	case kind != q.kind || kind == retrieve.Other || otherKinds.Has(strings.ToLower(first)):
		return false
	}
	return kind == retrieve.BugFix || kind == retrieve.Testing && !fault.MatchString(q.text) ||
		!fault.MatchString(q.text) && !documents.MatchString(q.intent) && !ofTests.MatchString(q.intent)
}

// otherKinds are words of a kind with which a task of another kind may begin.
var otherKinds = wordset.New("raise raises make error exception exceptions new slow")

// leastOfIntent is the minimum number of words that say something in the first line of a message, if it names no code
// or explains more further down. "Fix a parsing bug" with an explanation is no intent.
const leastOfIntent = 3

// tellsIntent reports whether the first line of a message says what has to be done.
func tellsIntent(q query) bool {
	return !explained(q.text) && len(q.symbols) > 0 || lists.Count(letters(q.intent),
		func(w string) bool { return len(w) > 1 && !emptyWords.Has(w) && !stopWords.Has(w) }) >= leastOfIntent
}

// hits counts the stems of a name that the task has, also as one word.
func (w *work) hits(name string) (hits, all int) {
	has := func(stem string) bool {
		return slices.ContainsFunc(w.keywords, func(k string) bool { return retrieve.Stem(k) == stem })
	}
	parts := stems(name)
	for _, s := range parts {
		if has(s) {
			hits++
		}
	}
	if len(parts) > 1 && has(retrieve.Stem(strings.ToLower(strings.ReplaceAll(name, "_", "")))) {
		hits = len(parts)
	}
	return hits, len(parts)
}

// expected returns the name that a reader of the task may expect of a symbol: the name of which the task has half of
// the words, or else that of its class; "" for none.
func (w *work) expected(name string) string {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		short := name[strings.LastIndexByte(name[:end], '.')+1 : end]
		if strings.HasPrefix(short, "__") {
			continue // all classes have such names
		}
		if hits, all := w.hits(short); hits > 0 && (hits == all || hits > 1 && 2*hits >= all) {
			return name[:end]
		}
	}
	return ""
}

// constants are names that all code has.
var constants = wordset.New(
	"foo bar baz foo.bar function class import export return const async await None True False Optional null true false " +
		"undefined nil self this default type error string")

// address matches a path or the name of a host.
var address = lazyre.New(`\S+/\S+|\b[\w.-]+\.(?:com|dev|io|net|org)\b`)

// shortOf returns the last part of a name: "run" of "Server.run".
func shortOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// suggested returns the symbols that a reader of the task may expect: those that it names, if the changed lines have
// them, and changed ones whose words are all in the task.
func (w *work) suggested(q query) []string {
	out := []string{}
	add := func(name string) {
		if len(out) < 8 && len(name) <= 80 && !slices.ContainsFunc(out,
			func(o string) bool { return o == name || strings.HasSuffix(o, "."+name) }) {
			out = append(out, name)
		}
	}
	var text strings.Builder
	for _, c := range w.changes {
		for _, side := range c.versions() {
			text.WriteString(side.text)
		}
	}
	for _, name := range spoken(address.ReplaceAllString(link.ReplaceAllString(w.task, ""), "")) {
		likeCode := name != strings.ToLower(name) || strings.ContainsAny(name, "_.")
		if !constants.Has(name) && !language.IsCode(name) && (slices.Contains(q.symbols, name) || w.words[name] ||
			likeCode && strings.Contains(text.String(), shortOf(name))) {
			add(name)
		}
	}
	for _, c := range w.changes {
		for _, i := range c.touched {
			x := &c.before.symbols[i]
			whole, all := w.hits(x.name)
			own, short := w.hits(x.short)
			if w.asks(c.path) && (whole == all && all > 1 || own == short && short > 1) &&
				slices.ContainsFunc(stems(x.short), func(s string) bool { return !generic.Has(s) }) {
				add(x.name)
			}
		}
	}
	return out
}

// module returns the folder that contains most of a change, if the task has the words of its name, or "".
func (w *work) module(repo string) string {
	count := map[string]int{}
	best := ""
	for _, c := range w.changes {
		if language.ServesTests(c.path) && !w.onlyTests() {
			continue
		}
		d := path.Base(path.Dir(c.path))
		count[d]++
		if best == "" || count[d] > count[best] {
			best = d
		}
	}
	if hits, all := w.hits(best); hits == 0 || hits < all || len(best) > 60 || best == repo {
		return ""
	}
	return best
}
