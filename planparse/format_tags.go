package planparse

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/yamldoc"
)

// buildGSD reads plans whose tasks are <task> elements. Their blank lines, indentation and fences break
// HTML blocks apart, so the tags are matched line by line, outside of fences of any indentation. A plan of the type
// "tdd" has a <feature> instead.
func (b *builder) buildGSD() bool {
	tags := b.unitTags("task")
	if _, _, isGSD := b.phaseAndPlan(); len(tags) == 0 && isGSD {
		tags = slices.DeleteFunc(b.unitTags("feature"), func(t tag) bool { return b.element(t, "name") == "" })
	}
	if len(tags) == 0 {
		return false
	}
	b.gsdTitle()
	wave := b.wave()
	taken := map[string]bool{}
	for _, t := range tags {
		number, _ := b.nameOf(t)
		taken[number] = true
	}
	for i, t := range tags {
		number, title := b.nameOf(t)
		if number == "" {
			number = fmt.Sprint(i + 1)
			if taken[number] && i > 0 { // a checkpoint between "Task 1" and "Task 2"
				number = b.plan.Batches[i-1].Number + "b"
			}
		}
		if title == "" {
			title = strings.TrimSpace(cmp.Or(b.firstWords(t, "action"), b.firstWords(t, "what-built"),
				b.firstWords(t, "decision")))
		}
		batch := b.startBatch(Batch{Number: number, Title: title, Group: wave, StartLine: t.first, DependsOn: lists.Filter(
			strings.FieldsFunc(t.attr("depends_on"), listMark), func(id string) bool { return taken[id] })})
		b.startTask(batch, Task{Number: number, Title: title, Line: t.first})
		b.endBatch(t.last)
		files := filer{builder: b, batch: &b.plan.Batches[batch], line: t.first}
		for _, f := range strings.FieldsFunc(b.element(t, "files"), listMark) {
			files.entry("modify", strings.TrimLeft(f, " -"))
		}
		b.gsdCommands(t, &b.plan.Batches[batch])
		if kind, ok := strings.CutPrefix(t.attr("type"), "checkpoint"); ok {
			b.plan.Batches[batch].Checkpoint = &Checkpoint{Kind: strings.TrimPrefix(kind, ":"), Text: b.checkpointText(t),
				Line: t.first}
		}
	}
	b.ownByLines()
	return true
}

// listMark reports whether a character separates the items of an element or attribute.
func listMark(r rune) bool { return r == ',' || r == '\n' }

// nameOf returns the number and the title of an element; each is "" if missing.
func (b *builder) nameOf(t tag) (number, title string) {
	number = t.attr("id")
	if name := cmp.Or(b.element(t, "name"), t.attr("title"), t.attr("name")); name != "" &&
		!strings.Contains(b.element(t, "options"), "<name>"+name+"<") {
		title = name
		if l := parseLabel([]byte(name)); l.id != "" {
			title = l.title
			number = cmp.Or(number, l.id)
		}
	}
	return number, title
}

// tag is a <task> or <feature> element: its lines and the text of its start tag.
type tag struct {
	first, last int
	start       string
}

func (t tag) attr(name string) string {
	_, rest, ok := strings.Cut(t.start, " "+name+"=")
	if !ok || rest == "" || (rest[0] != '"' && rest[0] != '\'') {
		return ""
	}
	value, _, _ := strings.Cut(rest[1:], rest[:1])
	return strings.TrimSpace(value)
}

// phaseAndPlan returns the phase and the plan number from a front matter, and whether it belongs to a GSD plan.
func (b *builder) phaseAndPlan() (phase, plan string, isGSD bool) {
	phase, _ = b.front.value("phase")
	plan, _ = b.front.value("plan")
	return phase, plan, phase != "" && plan != ""
}

// gsdTitle names a plan without a title of its own by its phase and number. A heading below a tag is not a title: it
// may be the heading of a summary that the agent has to write.
func (b *builder) gsdTitle() {
	phase, plan, isGSD := b.phaseAndPlan()
	if !isGSD {
		return
	}
	for n := b.lineOf(min(b.front.end, len(b.src)-1)); b.title != nil; n++ {
		if n >= b.title.line {
			return
		}
		if line := b.lineText(n); len(line) > 1 && line[0] == '<' && isLetter(line[1]) {
			break
		}
	}
	b.plan.Title = fmt.Sprintf("%s, plan %s", phase, plan)
}

// unitTags finds the elements with a name outside of fences. It ignores fences that never end.
func (b *builder) unitTags(name string) []tag {
	if !bytes.Contains(b.src, []byte("<"+name)) {
		return nil
	}
	if tags, ok := b.scanTags(name, true); ok {
		return tags
	}
	tags, _ := b.scanTags(name, false)
	return tags
}

func (b *builder) scanTags(name string, fences bool) (tags []tag, ok bool) {
	var stack []fenceLevel
	open, comment := false, false
	for n := b.lineOf(min(b.front.end, len(b.src)-1)); n <= len(b.lines); n++ {
		line := bytes.TrimSpace(b.lineText(n))
		if len(line) == 0 {
			continue
		}
		if level, info, isFence := fenceLine(line); isFence && fences {
			stack = nest(stack, level, info)
			continue
		}
		if len(stack) > 0 {
			continue
		}
		if comment || bytes.HasPrefix(line, []byte("<!--")) {
			comment = !bytes.Contains(line, []byte("-->"))
			continue
		}
		if isTag(line, "<"+name) {
			if open {
				tags[len(tags)-1].last = n - 1
				b.warn(tags[len(tags)-1].first, "unclosed-task", "the <%s> element is not closed before the next one", name)
			}
			tags, open = append(tags, tag{first: n, last: len(b.lines), start: string(line)}), true
		}
		if open && (bytes.HasSuffix(line, []byte("</"+name+">")) || bytes.HasPrefix(line, []byte("</"+name))) {
			tags[len(tags)-1].last, open = n, false
		}
	}
	return tags, len(stack) == 0
}

// isTag reports whether the line starts with the tag itself, not with a longer name (<tasks>).
func isTag(line []byte, name string) bool {
	return len(line) > len(name) && bytes.HasPrefix(line, []byte(name)) &&
		bytes.IndexByte([]byte(" >\t"), line[len(name)]) >= 0
}

// element returns the text of the first child element with the name.
func (b *builder) element(t tag, name string) string {
	text := string(b.between(t.first, t.last))
	_, rest, ok := strings.Cut(text, "<"+name+">")
	if !ok {
		return ""
	}
	value, _, ok := strings.Cut(rest, "</"+name+">")
	if !ok {
		value, _, _ = strings.Cut(rest, "\n")
	}
	return strings.TrimSpace(value)
}

// firstWords makes a title from the first line of a child element. Checkpoints have no action.
func (b *builder) firstWords(t tag, name string) string {
	line, _, _ := strings.Cut(b.element(t, name), "\n")
	if sentence, _, ok := strings.Cut(line, ". "); ok {
		line = sentence
	}
	if len(line) > 80 {
		line = strings.ToValidUTF8(line[:80], "") + "…"
	}
	return strings.TrimSuffix(strings.TrimSpace(line), ".")
}

// gsdCommands collects the commands of <automated> elements. Without them, lines of <verify> that are commands.
func (b *builder) gsdCommands(t tag, batch *Batch) {
	if verify := b.element(t, "verify"); !strings.Contains(verify, "<automated>") {
		before, _, _ := strings.Cut(string(b.between(t.first, t.last)), verify)
		line := t.first + strings.Count(before, "\n")
		for text := range strings.Lines(verify) {
			text = strings.TrimLeft(strings.TrimSpace(text), "-0123456789. ")
			if run := cmp.Or(criterion(text), bareCommand(text)); run != "" {
				batch.Commands = append(batch.Commands, Command{Run: run, Expected: "PASS", Said: "PASS", Line: line})
			}
			line++
		}
		return
	}
	text := string(b.between(t.first, t.last))
	for _, at := range automated.FindAllStringSubmatchIndex(text, -1) {
		run := html.UnescapeString(strings.TrimSpace(text[at[2]:at[3]]))
		batch.Commands = append(batch.Commands,
			Command{Run: run, Expected: "PASS", Said: "PASS", Line: t.first + strings.Count(text[:at[0]], "\n")})
	}
}

var automated = lazyre.New(`(?s)<automated>(.*?)</automated>`)

// bareCommand returns a line that is a command of a well-known tool without any prose.
func bareCommand(line string) string {
	switch firstWord(line) {
	case "npm", "npx", "pnpm", "yarn", "bun", "node", "deno", "go", "cargo", "pytest", "python", "python3", "uv", "make",
		"dotnet", "mix", "bundle", "swift", "xcodebuild", "flutter", "gradle", "mvn", "./gradlew", "terraform", "grep":
		if (!strings.HasSuffix(line, ".") || strings.HasSuffix(line, "/...")) &&
			!containsAny(line+" ", "`", "; ", " and ", " or ", " with ", " passes ",
				" succeeds ", " shows ", " returns ", " works ", " — ", " - ", " → ") {
			return line
		}
	}
	return ""
}

// wave makes a group of the wave or phase that the front matter names.
func (b *builder) wave() string {
	wave, line := b.front.value("wave")
	if wave != "" {
		b.plan.Groups = append(b.plan.Groups, Group{Kind: "wave", Number: wave, StartLine: line})
	}
	return wave
}

// ownByLines assigns each mark to the batch (and its only task) that contains its line.
func (b *builder) ownByLines() {
	at := 0
	for _, m := range b.marks {
		for at < len(b.plan.Batches) && b.plan.Batches[at].EndLine < m.line {
			at++
		}
		if at < len(b.plan.Batches) && b.plan.Batches[at].StartLine <= m.line {
			m.owner = owner{batch: int32(at), task: 0}
		}
	}
}

// todo is a task in the front matter of a Cursor plan.
type todo struct {
	ID           string   `yaml:"id"`
	Content      string   `yaml:"content"`
	Title        string   `yaml:"title"`
	Status       string   `yaml:"status"`
	Dependencies []string `yaml:"dependencies"`
}

// buildTodos reads plans whose tasks are a "todos:" list in the front matter; the body is prose.
func (b *builder) buildTodos() bool {
	if !bytes.Contains(b.front.text, []byte("todos:")) {
		return false
	}
	var head struct {
		Name  string `yaml:"name"`
		Todos []todo `yaml:"todos"`
	}
	if err := yamldoc.Unmarshal(b.front.text, &head); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		b.warn(1, "front-matter", "the front matter is not valid YAML, its todos are not read: %s", first)
		return false
	}
	if len(head.Todos) == 0 {
		return false
	}
	if b.title == nil && head.Name != "" {
		b.plan.Title = head.Name
	}
	starts, end := b.todoLines(len(head.Todos))
	for i, t := range head.Todos {
		number, title := t.ID, strings.TrimSpace(cmp.Or(t.Content, t.Title, t.ID))
		number = cmp.Or(number, fmt.Sprint(i+1))
		batch := b.startBatch(Batch{Number: number, Title: title, DependsOn: t.Dependencies, StartLine: starts[i]})
		finished := t.Status == "completed" || t.Status == "done"
		b.startTask(batch, Task{Number: number, Title: title, Done: finished, Line: starts[i]})
	}
	b.endBatch(end)
	return true
}

// todoLines finds the line of each item of the todos list, and the last line of the list.
func (b *builder) todoLines(n int) (starts []int, end int) {
	inside, indent := false, -1
	line := b.front.line
	for text := range bytes.Lines(b.front.text) {
		trimmed := bytes.TrimLeft(text, " ")
		width := len(text) - len(trimmed)
		switch {
		case bytes.HasPrefix(text, []byte("todos:")):
			inside = true
		case inside && bytes.HasPrefix(trimmed, []byte("-")) && (indent < 0 || width == indent):
			indent = width
			starts = append(starts, line)
		case inside && width == 0 && len(bytes.TrimSpace(text)) > 0:
			inside = false
		}
		if inside {
			end = line
		}
		line++
	}
	for len(starts) < n {
		starts = append(starts, b.front.line)
	}
	return starts, end
}
