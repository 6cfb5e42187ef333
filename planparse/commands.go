package planparse

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
)

// runReader pairs "Run: `cmd`" (or "Run:" and a fence) with the "Expected: …" that follows it.
type runReader struct {
	*builder
	waiting  bool     // "Run:" was read, its fence follows
	expect   bool     // "Expected:" was read, its fence follows
	command  *Command // the last command, to which an expectation belongs
	noted    string   // expectation in "Run (expect PASS):" for the fence below it
	batch    int32
	first    int    // index of the first command that this mark added
	criteria bool   // below "Automated Verification"
	blockRun bool   // the last command is a literal Run: block
	fence    bool   // the fence just read was the body of Run: or of Expected:
	step     string // the open step in lower case, if it runs something that should pass
	offered  *mark  // the fence below that step; it is a command if the plan says that it passes
}

// mark reads one mark and returns nothing, because commands belong to the batch.
func (r *runReader) mark(m *mark) {
	r.fence = false
	r.blockRun = false
	if m.kind == markHeading || m.kind == markBox || m.step || m.owner.batch != r.batch {
		r.waiting, r.expect, r.command, r.batch = false, false, nil, m.owner.batch
		r.step, r.offered = "", nil
		if m.step {
			r.step = runStep(string(m.text))
		}
	}
	if m.kind == markHeading || m.kind == markText && m.parent == nil && sectionLabel(m.text) {
		r.criteria = saysChecks(string(m.text))
	}
	if m.owner.batch < 0 || m.kind == markHeading {
		return
	}
	r.first = len(r.plan.Batches[m.owner.batch].Commands)
	if m.kind == markFence {
		r.readFence(m)
		return
	}
	label, rest, ok := runLabel(m.text)
	if !ok && m.kind == markBox && m.label.id != "" {
		label, rest, ok = labelledRun(m.text, m.label.id)
	}
	switch {
	case r.criteria && !ok && (m.kind == markBox && !done(m.state) || m.kind == markItem):
		text := string(m.text)
		if m.label.id != "" { // "6.2 `make lint` is clean"
			text = m.label.title
		}
		if run := criterion(text); run != "" {
			r.add(m.line, run)
		}
	case !ok:
		if len(m.text) > 0 && m.kind != markBreak {
			r.waiting, r.expect = false, false
		}
	case label == "run":
		r.readRun(m, rest)
	case label == "verify":
		before, span, _, found := cutSpan(string(rest))
		if found && strings.Contains(span, " ") && !isCode(span) && !containsAny(before, ". ", "。") {
			r.addAll(m.line, string(rest))
			r.blockRun = false
		}
	case label == "expected":
		r.waiting = false
		if expectation(string(rest)) == "PASS" {
			r.accept()
		}
		r.expect = len(rest) == 0
		if !r.expect {
			r.setExpected(string(rest))
		}
	}
}

// runLabel recognizes the labels of commands: "Run:", "*Run (expect PASS):*", "**Expected:**", "Verify:".
func runLabel(text []byte) (label string, rest []byte, ok bool) {
	text = bytes.TrimLeft(text, "*_→> ")
	if len(text) < 4 {
		return "", nil, false
	}
	n := 0
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	if n < len(text) && text[n] >= utf8.RuneSelf { // "运行：", "Ausführen:"
		word, rest, ok := cutLabel(text)
		label = commandLabel(word)
		return label, rest, ok && label != ""
	}
	if label = commandLabel(strings.ToLower(string(text[:n]))); label == "" {
		return "", nil, false
	}
	colon := bytes.IndexByte(text, ':')
	tick := bytes.IndexByte(text, '`')
	if colon < 0 || colon > 48 || (tick >= 0 && tick < colon) {
		if label == "run" && tick >= 0 && tick <= n+2 && wholeSentence(text[tick:]) { // "Run `cmd`"
			return label, text[tick:], true
		}
		return "", nil, false
	}
	note := bytes.ToLower(text[n:colon])
	if label == "run" && bytes.Contains(note, []byte("expect")) {
		return label, append(bytes.TrimLeft(text[colon+1:], "*_ "),
			append([]byte(" Expected: "), expectNote(text[n:colon])...)...), true
	}
	rest = bytes.TrimLeft(text[colon+1:], "*_ \t")
	if bytes.ContainsFunc(note, unicode.IsLetter) && (len(rest) > 0 && rest[0] != '`' || aboutRun(note)) {
		return "", nil, false
	}
	return label, rest, true
}

// aboutRun reports whether the words after "Run" name a property of a run: "Run directory: `out/1`".
func aboutRun(note []byte) bool {
	words := strings.Fields(string(bytes.Trim(note, "*_ ")))
	return len(words) == 1 && slices.Contains([]string{"directory", "folder", "dir", "path", "id", "name", "log", "logs",
		"output", "date", "mode", "report"}, words[0])
}

// isCode reports whether a code span is not a shell command: "run()", "parse<T>(s: T)", "read → check", a slash command
// of an agent ("/review all") or the name of a file that is not a program ("a/b.spec.ts").
func isCode(span string) bool {
	word := firstWord(span)
	if strings.Contains(span, "→") {
		return true
	}
	if i := strings.IndexByte(word, '('); i > 0 && (isLetter(span[i-1]) || isDigit(span[i-1]) ||
		strings.IndexByte("_>", span[i-1]) >= 0) {
		return true
	}
	if rest, slash := strings.CutPrefix(word, "/"); slash && !strings.Contains(rest, "/") {
		return true
	}
	if word != span || strings.HasPrefix(word, "./") || !looksLikePath(word) {
		return false
	}
	switch strings.TrimLeft(path.Ext(word), ".0123456789") {
	case "", "sh", "bash", "zsh", "fish", "py", "rb", "pl", "php", "mjs", "ps1", "bat", "cmd", "exe":
		return false
	}
	return true
}

// labelledRun recognizes "Run `cmd`" after the id of a task: "T005 Run `make`", "3.8 [P] Run `make` and commit". A
// command that should fail at first is an intermediate step.
func labelledRun(text []byte, id string) (label string, rest []byte, ok bool) {
	i := bytes.Index(text, []byte("Run `"))
	if i < 0 || i > len(id)+len("** [P] [US1] ") || bytes.Contains(bytes.ToLower(text), []byte("fail")) {
		return "", nil, false
	}
	return runLabel(text[i:])
}

// criterion returns the command of "Type checking passes: `npm run check`", "`npm run check` passes" and "`npm run
// check`": lines without other content.
func criterion(text string) string {
	before, span, after, _ := cutSpan(text)
	if word := firstWord(strings.TrimPrefix(strings.TrimLeft(after, " -—–→*"), "is ")); strings.Trim(before,
		"*_ ") == "" &&
		(strings.Trim(after, " .") == "" || verdictWord(strings.Trim(word, ".,;:")) == "PASS") {
		if program := firstWord(span); program == span || program == strings.ToUpper(program) || isCode(span) ||
			strings.ContainsAny(span, "<>") || slices.Contains([]string{"dev", "start", "serve", "watch", "preview"},
			span[strings.LastIndexByte(span, ' ')+1:]) {
			return "" // a request, a placeholder or a server
		}
		return span
	}
	said, colon := strings.CutSuffix(strings.TrimRight(before, " "), ":")
	if !colon || strings.Trim(after, " .") != "" || !strings.Contains(span, " ") ||
		!containsAny(strings.ToLower(said), "pass", "succeed", "compil", "build", "lint", "clean", "green") {
		return ""
	}
	return span
}

// wholeSentence reports whether a sentence is only about the command: "Run `make`.", "Run `make` and check that it
// passes". In "Run `ast-grep` once at plan start" the command is part of the design.
func wholeSentence(text []byte) bool {
	_, _, after, ok := cutSpan(string(text))
	if !ok {
		return false
	}
	after = strings.TrimLeft(strings.ToLower(after), " \t*_")
	if after == "" || strings.IndexAny(after[:1], ".,;:(!`&+") == 0 {
		return true
	}
	return slices.ContainsFunc([]string{"-", "—", "–", "→", "and ", "then ", "again", "to verify", "to check",
		"to confirm", "to make sure", "expect", "must pass", "should pass", "passes", "until "},
		func(w string) bool { return strings.HasPrefix(after, w) })
}

// expectNote extracts PASS from " (expect PASS)".
func expectNote(note []byte) []byte {
	_, after, _ := bytes.Cut(bytes.ToLower(note), []byte("expect"))
	return bytes.Trim(bytes.TrimPrefix(after, []byte("ed")), " ():*")
}

func (r *runReader) readRun(m *mark, rest []byte) {
	text := string(rest)
	r.expect, r.waiting = false, false
	before, span, _, found := cutSpan(text)
	if found && (isCode(span) || gesture(before)) {
		return
	}
	if !found {
		if body, noted, _ := strings.Cut(text, "Expected: "); strings.TrimSpace(body) == "" {
			r.waiting, r.command, r.noted = true, nil, noted
		}
		return
	}
	r.addAll(m.line, text)
	r.blockRun = true
}

// gesture reports whether the words before a code span tell a person what to do with it: "Press `F5`".
func gesture(before string) bool {
	return slices.Contains([]string{"press", "hit", "click", "open", "visit", "select", "type", "navigate", "browse",
		"reload"},
		leadingWord(before))
}

// addAll adds the commands of "`a` and `b`", and the expectation behind them.
func (r *runReader) addAll(line int, text string) {
	_, span, after, _ := cutSpan(text)
	r.add(line, span)
	for {
		between, next, tail, more := cutSpan(after)
		if !more || isCode(next) ||
			strings.Trim(strings.NewReplacer("and", "", "then", "", "&&", "").Replace(between), " ,;+") != "" {
			break
		}
		r.add(line, next)
		after = tail
	}
	r.expectIn(after)
}

var expects = lazyre.New(`(?i)(expect(?:ed)?)|must pass`)

// expectIn reads an expectation on the line of its command: "Run: `x` — Expected: FAIL".
func (r *runReader) expectIn(text string) {
	if at := expects.FindStringSubmatchIndex(text); at != nil {
		r.setExpected(strings.TrimLeft(text[max(at[0], at[3]):], ": *"))
	}
}

func (r *runReader) readFence(m *mark) {
	switch {
	case r.waiting:
		text := strings.TrimSpace(r.fenceText(m.fence))
		if text != "" {
			r.add(m.line, text)
			if r.noted != "" {
				r.setExpected(r.noted)
			}
			r.fence, r.blockRun = true, true
		}
	case r.expect:
		r.setOutput(strings.TrimSpace(r.fenceText(m.fence)))
		r.fence = true
	case r.step != "" && isShell(string(m.text)):
		r.offered = m
		if containsAny(r.step, "pass", "succeed", "green") {
			r.accept()
		}
	}
	r.waiting, r.expect, r.noted = false, false, ""
}

// accept makes a command of the fence below a step that runs it: "**Step 2: Run the tests**", a fence, "Expected:
// PASS".
func (r *runReader) accept() {
	if r.offered != nil {
		r.add(r.offered.line, r.fenceText(r.offered.fence))
		if r.command != nil { // the text after "Expected:" is often a remark
			r.command.Expected, r.command.Said = "PASS", "PASS"
		}
		r.offered = nil
	}
}

// runStep returns the text of a step that runs something which should pass, in lower case; "" for other steps. A run
// that should fail at first is an intermediate step.
func runStep(text string) string {
	text = strings.ToLower(text)
	if _, rest, ok := strings.Cut(text, ":"); ok && strings.Contains(text, "step") {
		text = rest
	}
	text = strings.TrimLeft(text, "*_ ")
	switch firstWord(text) {
	case "run", "rerun", "re-run", "verify", "check", "confirm", "test":
		if !strings.Contains(text, "fail") {
			return text
		}
	}
	return ""
}

// isShell reports whether a fence with this info string holds commands.
func isShell(info string) bool {
	return slices.Contains([]string{"bash", "sh", "shell", "zsh", "console"}, firstWord(strings.TrimSpace(info)))
}

// sectionLabel reports whether a line of text is the label of the lines below it: "**Verification**", "Exit criteria:".
func sectionLabel(text []byte) bool {
	return boldLabel(text) || bytes.HasSuffix(text, []byte(":")) && len(text) < 40 ||
		bytes.HasPrefix(text, []byte("**")) && bytes.HasSuffix(text, []byte("**"))
}

// saysChecks reports whether a heading or label says that the commands below it check the result.
func saysChecks(title string) bool {
	title = strings.TrimLeft(strings.ToLower(strings.Trim(title, "*_:： ")), "0123456789.) ")
	return strings.Contains(title, "automated verification") ||
		slices.Contains([]string{"automated tests", "verification", "verify", "validation", "exit criteria", "验证", "驗證", "検証",
			"검증",
			"verificación", "vérification", "verificação", "überprüfung", "проверка"}, title)
}

func (r *runReader) add(line int, run string) {
	run = strings.TrimSpace(run)
	if run == "" || placeholder.MatchString(run) {
		return
	}
	batch := &r.plan.Batches[r.batch]
	batch.Commands = append(batch.Commands, Command{Run: run, Line: line})
	r.command = &batch.Commands[len(batch.Commands)-1]
}

// placeholder matches a part of a URL or path that a person must fill in: "/users/{user_id}".
var placeholder = lazyre.New(`[/=]\{[A-Za-z_]+\}`)

// setExpected takes the text after "Expected:".
func (r *runReader) setExpected(said string) {
	if r.command != nil && r.command.Expected == "" {
		if strings.IndexByte(said, '`') < 0 { // the stars of "**Expected: 3 passed**"
			said = plain([]byte(said))
		}
		r.command.Expected, r.command.Said = expectation(said), strings.TrimSpace(said)
	}
}

// setOutput takes the fence below "Expected:", which contains output.
func (r *runReader) setOutput(text string) {
	if r.command != nil && r.command.Expected == "" {
		r.command.Expected, r.command.Said = text, "```\n"+text+"\n```"
	}
}

// expectation maps the common forms to PASS, FAIL or a text to find.
func expectation(text string) string {
	text = strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "*"))
	low := strings.ToLower(strings.TrimLeft(text, "`*\"'✓✅❌ "))
	if verdict := verdictWord(strings.Trim(firstWord(low), ".,;:!*`)。")); verdict != "" {
		return verdict
	}
	if before, span, _, ok := cutSpan(text); ok && !strings.Contains(before, ". ") {
		return strings.TrimSpace(span)
	}
	if before, rest, ok := strings.Cut(text, `"`); ok && !strings.Contains(before, ". ") {
		if quoted, _, ok := strings.Cut(rest, `"`); ok && quoted != "" {
			return quoted
		}
	}
	switch {
	case containsAny(low, "fail"):
		if containsAny(low, "tests fail", "test fails", "should fail") {
			return "FAIL"
		}
	case containsAny(low, "pass", "no errors", "no new errors", "no output", "no error", "exit 0", "exit code 0",
		"exits 0", "successfully", "succeeds"):
		return "PASS"
	}
	if v, ideographic := ideographicVerdict(low); ideographic {
		return v
	}
	if strings.Count(text, " ") > 11 || strings.HasSuffix(text, ".") && containsAny(low, " is ", " are ", " shows ",
		" returns ", " contains ", " lists ") {
		return "" // a description for people, not a text that will be printed
	}
	return text
}

func firstWord(s string) string {
	if end := strings.IndexAny(s, " ，。；："); end >= 0 {
		return s[:end]
	}
	return s
}
