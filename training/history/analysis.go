package history

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/chunks"
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
	if !clearKind(q) {
		return lesson{}, "the task does not say which kind of task it is"
	}
	concepts := w.concepts()
	if len(concepts) == 0 {
		return lesson{}, "the task has no term of the changed code"
	}
	a := analysed{Intent: q.intent, Kind: string(q.kind), Concepts: concepts, Symbols: w.suggested(q),
		Module: w.module()}
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
	issueStart = lazyre.New(`^(?:\[[^\]\n]{1,20}\]\s*)+|^(?i:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|issue|bug|gh)\b\s*)?(?:#|GH-)\d+\s*[:,-]?\s+`)
	issueEnd   = lazyre.New(`(?:[\s,]*\(?(?i:\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|issue|bug)\b:?\s+)?(?:#\d+|[A-Z]{2,10}-\d+)(?:,?\s+(?:and\s+)?#\d+)*\)?)+\.?$`)
	typePrefix = lazyre.New(`^(?i:fix|fixes|new|update|upgrade|breaking|feat|docs?|build|chore|refactor|perf|tests?|style|ci)(?:\([^)\n]{1,60}\))?!?:\s+`)
	kindStart  = lazyre.New(`^(?i:fix|feat|feature|new|docs?|refactor|perf|tests?|chore|build|ci|style)(?:\([^)\n]{1,60}\))?!?:\s`)
)

// intentOf returns what a message says has to be done: its first line without numbers of issues and types such as
// "fix(parser): ".
func intentOf(message string) string {
	subject, rest, _ := strings.Cut(message, "\n")
	subject = strings.TrimSpace(subject)
	if last := strings.ToLower(subject[strings.LastIndexByte(subject, ' ')+1:]); emptyWords.Has(last) || stopWords.Has(last) {
		more, _, _ := strings.Cut(rest, "\n") // the sentence goes on in the next line
		subject = strings.TrimSpace(subject + " " + strings.TrimSpace(more))
	}
	said := strings.TrimSpace(issueEnd.ReplaceAllString(issueStart.ReplaceAllString(subject, ""), ""))
	said = typePrefix.ReplaceAllString(said, "")
	if utf8.RuneCountInString(said) < leastChars {
		said = subject
	}
	return phrase.Cut(fence.Line(said), 400)
}

// clearKind reports whether a task says at its start which kind it is: by a type such as "feat: " or "chore: ", or by its
// first word. Other words of kinds may be about something else, such as "move" in "only move the window if it is open",
// and a task may raise an error or a version.
func clearKind(q query) bool {
	first, _, _ := strings.Cut(withoutPrefix(q.intent), " ")
	kind := retrieve.KindOf(first)
	return kindStart.MatchString(q.text) || kind == q.kind && kind != retrieve.Other && !strings.EqualFold(first, "raise")
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

// expected returns the name that a reader of the task may expect of a symbol: the name of which the task has half of the
// words, or else that of its class; "" for none.
func (w *work) expected(name string) string {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		if hits, all := w.hits(name[strings.LastIndexByte(name[:end], '.')+1 : end]); hits > 0 && 2*hits >= all {
			return name[:end]
		}
	}
	return ""
}

// suggested returns the needed symbols that a reader of the task may expect: those that it names, changed ones, then used
// ones.
func (w *work) suggested(q query) []string {
	out := []string{}
	add := func(name string) {
		if len(out) < 8 && name != "" && len(name) <= 80 && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, name := range spoken(w.task) {
		if slices.Contains(q.symbols, name) || w.words[name[strings.LastIndexByte(name, '.')+1:]] {
			add(name)
		}
	}
	for _, c := range w.changes {
		for _, i := range c.touched {
			if w.asks(c.path) {
				add(w.expected(c.before.symbols[i].name))
			}
		}
	}
	for _, d := range w.deps {
		for _, u := range d.uses {
			add(w.expected(u))
		}
	}
	return out
}

// module returns the folder that contains most of a change, if its name has a word of the task, or "".
func (w *work) module() string {
	count := map[string]int{}
	best := ""
	for _, c := range w.changes {
		d := path.Base(path.Dir(c.path))
		count[d]++
		if best == "" || count[d] > count[best] {
			best = d
		}
	}
	if hits, _ := w.hits(best); hits == 0 || len(best) > 60 {
		return ""
	}
	return best
}

// Limits of [work.concepts].
const (
	mostConcepts = 5
	mostWords    = 3 // of a concept
)

var (
	termRE   = lazyre.New(`[\p{L}\d_.$/]+`)
	noTermRE = lazyre.New("`[^`\n]*[^`\na-z -][^`\n]*`|https?://\\S+|(?m:^(?:\t|    |\\s*[|>]).*$)")
)

// concepts returns the terms of a task: rows of up to three significant words. The changed code or its path has one of
// them if the row is in the first line of the task, and all of them if it is further down.
func (w *work) concepts() []string {
	code := map[string]bool{}
	add := func(s string) { code[s] = true }
	for _, c := range w.changes {
		chunks.EachWord(c.path, add)
		old, now := c.changedLines()
		chunks.EachWord(old, add)
		chunks.EachWord(now, add)
		for _, i := range c.touched {
			chunks.EachWord(c.before.symbols[i].name, add)
		}
	}
	inCode := func(word string) (found bool) {
		chunks.EachWord(word, func(s string) { found = found || code[s] })
		return found
	}
	out := []string{}
	var row []string
	body := false
	end := func() {
		if len(row) > 0 && actions.Has(row[0]) {
			row = row[1:]
		}
		row = row[max(0, len(row)-mostWords):]
		term := strings.Join(row, " ")
		known := lists.Count(row, inCode)
		if len(out) < mostConcepts && len(term) > 3 && !slices.Contains(out, term) &&
			(known == len(row) || known > 0 && !body) {
			out = append(out, term)
		}
		row = nil
	}
	subject := intentOf(w.task)
	_, rest, _ := strings.Cut(w.task, "\n")
	text := noTermRE.ReplaceAllString(subject, ".") + "\n"
	first, last := len(text), 0
	text += noTermRE.ReplaceAllString(rest, ".")
	for _, at := range termRE.Re().FindAllStringIndex(text, -1) {
		word, gap := text[at[0]:at[1]], text[last:at[0]]
		if gap = strings.Trim(gap, "`"); gap != " " && gap != "-" {
			end()
		}
		body, last = at[0] >= first, at[1]
		small := strings.ToLower(strings.TrimRight(word, "."))
		verb := (strings.HasSuffix(small, "ing") || strings.HasSuffix(small, "ed")) && !inCode(small)
		isCode := mayBeCode(word) && codeLike.MatchString(word)
		if isCode || verb || emptyWords.Has(small) || stopWords.Has(small) || utf8.RuneCountInString(small) < 2 ||
			noTerms.Has(small) || strings.ContainsAny(small, "./$") || strings.Trim(small, "0123456789") == "" {
			end()
			if parts := retrieve.Humps(word); isCode && len(parts) <= mostWords {
				row = parts
				end()
			}
			continue
		}
		if row = append(row, small); strings.HasSuffix(word, ".") {
			end()
		}
	}
	end()
	return out
}

// actions are the verbs with which many sentences of tasks begin. They begin no term.
var actions = wordset.New(
	"allow apply avoid check convert correct cover detect disable disallow don drop enable ensure escape exclude extend " +
		"extract handle ignore implement include increase introduce limit load merge move pass prevent print raise reduce " +
		"remove rename reorder replace report reset restore return rewrite show simplify skip split stop support switch " +
		"throw track upgrade validate verify")

// noTerms are more words that are in no term.
var noTerms = wordset.New(
	"actually already always anymore better correctly currently even first instead longer never possible possibly " +
		"previously properly really still though two yes")
