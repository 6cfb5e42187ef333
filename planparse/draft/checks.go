package draft

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/wordset"
)

// collectTests returns the items of a test plan. It skips text between them, and items after a paragraph of text.
func (d *document) collectTests(s *section) []testItem {
	items := d.items(s)
	if len(items) == 0 {
		if text := d.body(s); strings.TrimSpace(text) != "" {
			items = []testItem{{text, s.First, s.Last}}
		}
	}
	for i := 1; i < len(items); i++ {
		if between := d.text(items[i-1].last+1, items[i].first-1); len(strings.Split(strings.TrimSpace(between), "\n")) > 1 {
			items = items[:i]
		}
	}
	if len(items) == 0 {
		d.leave(s.Line, s.Last, s.name, "an empty test plan")
	} else {
		d.leave(s.Line, items[0].first-1, s.name, "it introduces the checks below it")
	}
	for i, it := range items {
		next := s.Last
		if i+1 < len(items) {
			next = items[i+1].first - 1
		}
		d.leave(it.last+1, next, s.name, "text in a test plan, but not an item")
	}
	for _, k := range s.kids {
		if k.kind == contextSection || k.kind == orderSection {
			d.leaveAll(k, "background, not work")
			continue
		}
		items = append(items, d.collectTests(k)...)
	}
	return items
}

// checkAll adds each item of a test plan to the batch whose files the item names. Items for no batch or for several
// batches are put into a new batch, which waits for the batches of the test plan.
func (d *document) checkAll(items []testItem) {
	var rest []testItem
	for _, it := range items {
		if b := d.about(it.text); b != nil {
			b.check(d, it)
		} else {
			rest = append(rest, it)
		}
	}
	if len(rest) == 0 {
		return
	}
	last := &batch{Batch: Batch{Title: "Check the result", Origin: d.at(rest[0].first)}}
	if d.exists(d.name) {
		last.Refs = []string{d.name}
	}
	for _, it := range rest {
		last.check(d, it)
	}
	for i := d.checked; i < len(d.batches); i++ {
		last.DependsOn = append(last.DependsOn, i+1)
	}
	d.batches = append(d.batches, last)
	d.checked = len(d.batches)
}

// about returns the one batch whose files a text names; nil for none or several.
func (d *document) about(text string) *batch {
	var found *batch
	for _, m := range d.mentions(text) {
		for _, b := range d.batches {
			if b.names(m.path) && b != found {
				if found != nil {
					return nil
				}
				found = b
			}
		}
	}
	return found
}

// check makes a task of an item, and a check of the batch from its command.
func (b *batch) check(d *document, it testItem) {
	from := b.From
	if len(b.From) == len(b.Tasks) {
		b.From = append(from, d.at(it.first))
	}
	b.Tasks = append(b.Tasks, "Check: "+lead(strings.ReplaceAll(it.text, "`", ""))+"\n\n"+it.text)
	run, rest, ok := commandOf(it.text)
	if !ok {
		return
	}
	c := Check{Run: run}
	if passes.MatchString(rest) && !fails.MatchString(rest) {
		c.Expected = "PASS"
	}
	if !slices.ContainsFunc(b.Checks, func(x Check) bool { return x.Run == c.Run }) {
		b.Checks = append(b.Checks, c)
	}
}

var (
	passes   = lazyre.New(`(?i)\b(?:pass(?:es|ed)?|green|clean|succeeds?|exits? 0|no errors?|ok)\b|\d+/\d+ pass`)
	fails    = lazyre.New(`(?i)\b(?:fails?|must not|raises?|errors? out|non-?zero)\b`)
	programs = wordset.New(`pytest python python3 go gotestsum npm npx pnpm yarn bun deno node cargo make just task uv uvx pip ruff mypy black tox nox poetry git bash sh docker
		bundle rspec rake rails ruby mvn gradle ./gradlew ./mvnw dotnet swift xcodebuild mix composer phpunit php terraform helm kubectl curl jest vitest tsc eslint`)
	// behind matches the start of the text after a command that is not in a code span
	behind = lazyre.New(`\s+(?:—|–|--|→|=>|#)\s+|;\s+[a-z]|\s+\(|\s(?:on|in|for|with|against)\s(?:the|a|an|all|each|every)\s|\s(?:prints?|shows?|lists?|writes?|passe?s?|exits?|still|must|should|succeeds?|is|and|then)\s`)
)

// commandOf takes the command from the beginning of an item: a code span, or words that begin with a program that
// checks are run with. A command with a placeholder does not count.
func commandOf(text string) (run, rest string, ok bool) {
	first, more, _ := strings.Cut(text, "\n")
	first = strings.TrimSpace(
		regexp.MustCompile(`(?i)^(?:run|execute|verify:?|manual:?|then run)\s+`).ReplaceAllString(strings.TrimSpace(first),
			""))
	if m := inCode.FindStringSubmatchIndex(first); m != nil && m[0] == 0 {
		run, rest = strings.TrimSpace(first[m[2]:m[3]]), first[m[1]:]+"\n"+more
	} else if m == nil {
		run, rest = first, more
		if at := behind.FindStringIndex(first); at != nil {
			run, rest = first[:at[0]], first[at[0]:]+"\n"+more
		} else if !strings.Contains(first, "/") && !strings.Contains(first, " -") {
			return "", "", false // a sentence that begins with a program's name
		}
	}
	words := strings.Fields(run)
	if len(words) < 2 && run != "make" && run != "pytest" || strings.ContainsAny(run, "`…{}<>\n") ||
		fence.Line(run) != run || strings.Contains(run, `"..."`) ||
		strings.Count(run, `"`)%2+strings.Count(run, "'")%2 > 0 {
		return "", "", false
	}
	program := words[0]
	if !programs.Has(program) && !strings.HasPrefix(program, "./") && !strings.HasPrefix(program, "scripts/") &&
		!strings.HasPrefix(program, "bin/") {
		return "", "", false
	}
	return run, rest, true
}
