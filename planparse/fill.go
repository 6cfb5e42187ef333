package planparse

import (
	"bytes"
	"strconv"
	"strings"
)

// filler walks the marks once more and writes what they say into the batches they belong to.
type filler struct {
	*builder
	files filesReader
	run   runReader
	block blocksReader
	meta  int  // batch whose metadata lines are being read, -1 when they are over
	head  bool // the lines right under the title are being read
	key   string
}

// fill reads steps, metadata, files, commands and blocks.
func (b *builder) fill() {
	b.headerFromFrontMatter()
	f := &filler{builder: b, meta: -1}
	f.files.builder, f.run.builder, f.block.builder = b, b, b
	for i := range b.marks {
		f.mark(i)
	}
	b.warnBoxes()
	b.finishTasks()
	f.block.finish()
}

func (f *filler) mark(i int) {
	m, o := &f.marks[i], f.owner[i]
	f.step(m, o)
	f.metadata(i)
	fresh := f.files.mark(m, o)
	f.run.mark(m, o)
	f.block.mark(i, fresh, &f.run)
}

// step files a checkbox or a step marker with its task.
func (f *filler) step(m *mark, o owner) {
	if o.self || m.unit.kind == unitTask { // the task itself
		return
	}
	box := m.kind == markBox
	if !box && !m.step {
		return
	}
	s := Step{Text: plain(m.text), Done: done(m.state), Line: m.line, Box: box}
	switch {
	case o.task >= 0:
		t := &f.plan.Batches[o.batch].Tasks[o.task]
		t.Steps = append(t.Steps, s)
	case box:
		f.plan.Unassigned = append(f.plan.Unassigned, s)
		if o.batch >= 0 && f.plan.Format == FormatPhases {
			batch := &f.plan.Batches[o.batch]
			batch.Steps = append(batch.Steps, s)
		}
	}
}

// warnBoxes reports the boxes that nobody runs and the states that nobody defines. One remark for a run of
// neighbours is enough.
func (b *builder) warnBoxes() {
	for i := 0; i < len(b.marks); i++ {
		m := &b.marks[i]
		if m.kind != markBox {
			continue
		}
		if m.state != ' ' && !done(m.state) {
			b.warn(m.line, "unknown-state", "the box is in state [%c]: it is neither open nor done, and does not count as done", m.state)
		}
		if b.owner[i].task >= 0 || (i > 0 && b.looseBefore(i)) {
			continue
		}
		n := 0
		for j := i; j < len(b.marks) && b.marks[j].kind != markHeading; j++ {
			if b.marks[j].kind == markBox && b.owner[j].task < 0 {
				n++
			}
		}
		what := "belong to no task and are not run"
		if b.plan.Format == FormatPhases {
			what = "stand below a phase; this format knows no tasks, the phase is the unit of work"
		}
		b.report(SeverityInfo, m.line, "unassigned-boxes", "%d checkboxes from here on %s", n, what)
	}
}

// looseBefore reports whether the box before this one, under the same heading, was loose as well.
func (b *builder) looseBefore(i int) bool {
	for i--; i >= 0 && b.marks[i].kind != markHeading; i-- {
		if b.marks[i].kind == markBox {
			return b.owner[i].task < 0
		}
	}
	return false
}

// finishTasks derives the state of tasks from their steps.
func (b *builder) finishTasks() {
	for i := range b.plan.Batches {
		tasks := b.plan.Batches[i].Tasks
		for j := len(tasks) - 1; j >= 0; j-- {
			t := &tasks[j]
			open, boxes := 0, 0
			for _, s := range t.Steps {
				if s.Box {
					boxes++
				}
				if s.Box && !s.Done {
					open++
				}
			}
			children := false
			for k := j + 1; k < len(tasks) && tasks[k].Parent != "" && tasks[k].Line <= t.EndLine; k++ {
				children = true
				if !tasks[k].Done {
					open++
				}
			}
			t.Done = t.Done || (open == 0 && (boxes > 0 || children))
		}
	}
}

// headerFromFrontMatter reads the hints that hold for the whole plan.
func (b *builder) headerFromFrontMatter() {
	b.front.each(func(line int, key, value string) { b.header(line, key, value) })
}

func (b *builder) header(line int, key, value string) {
	h := &b.plan.Header
	switch key {
	case "parallel_safe":
		b.flag(line, key, value, &h.ParallelSafe)
	case "critical":
		b.flag(line, key, value, &h.Critical)
	case "approve":
		b.flag(line, key, value, &h.Approve)
	case "when":
		h.When = value
	}
}

// flag sets a boolean header, or reports a value that is none.
func (b *builder) flag(line int, key, value string, set *bool) {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		*set = true
	case "false", "no", "off", "0":
		*set = false
	default:
		b.report(SeverityError, line, "malformed-header", "%s: %s is neither true nor false", key, strconv.Quote(value))
	}
}

// metadata reads "key: value" and "**Key:** value" lines right under the heading of a batch or the title.
func (f *filler) metadata(i int) {
	m := &f.marks[i]
	if m.kind == markHeading {
		f.meta, f.head, f.key = -1, i == f.title, ""
		if o := f.owner[i]; o.batch >= 0 && f.plan.Batches[o.batch].StartLine == m.line {
			f.meta = int(o.batch)
		}
		return
	}
	if f.meta < 0 && !f.head {
		return
	}
	if m.kind == markItem && f.key != "" && f.meta >= 0 { // a YAML list below "depends_on:"
		f.batchKey(m.line, f.key, string(m.text), true)
		return
	}
	key, value, bold, ok := cutKey(m)
	if !ok {
		f.meta, f.head, f.key = -1, false, ""
		return
	}
	if f.head {
		f.header(m.line, key, value)
		return
	}
	f.key = ""
	if value == "" && (key == "depends_on" || key == "context_refs" || key == "regression") {
		f.key = key
		return
	}
	f.batchKey(m.line, key, value, !bold)
}

// cutKey splits a metadata line. Prose ("We need this: …") is none: a bare key has no blanks.
func cutKey(m *mark) (key, value string, bold, ok bool) {
	if (m.kind != markText && m.kind != markItem) || len(m.text) == 0 {
		return "", "", false, false
	}
	text := m.text
	if rest, found := bytes.CutPrefix(text, []byte("**")); found {
		k, v, found := bytes.Cut(rest, []byte("**"))
		k, colon := bytes.CutSuffix(bytes.TrimSpace(k), []byte(":"))
		if !colon {
			v, colon = bytes.CutPrefix(bytes.TrimSpace(v), []byte(":"))
		}
		return metaKey(string(k)), strings.TrimSpace(string(v)), true, found && colon
	}
	k, v, found := bytes.Cut(text, []byte(":"))
	if !found || len(k) == 0 || bytes.ContainsAny(k, " \t`*[(") || (len(v) > 0 && v[0] != ' ' && v[0] != '\t') {
		return "", "", false, false
	}
	return metaKey(string(k)), yamlScalar(string(v)), false, true
}

// metaKey folds the spellings of a key: "Depends on", "depends-on", "DEPENDS_ON".
func metaKey(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(strings.Trim(s, " \t\"'")))
}

// batchKey applies one line. strict is the form that was written for us: there, an unknown batch is an
// error; the prose form ("**Depends on:** Task 1 GREEN") names what it can.
func (f *filler) batchKey(line int, key, value string, strict bool) {
	batch := &f.plan.Batches[f.meta]
	switch key {
	case "context_refs", "context":
		if key == "context" && !strict {
			return
		}
		for _, ref := range splitList(value) {
			if ref, ok := cleanPath(ref); ok {
				batch.ContextRefs = append(batch.ContextRefs, ref)
			} else {
				f.warn(line, "path-outside-workspace", "context_refs: %s is not a path in the workspace; left out", ref)
			}
		}
	case "depends_on":
		f.wants(f.meta, line, value, strict)
	case "critical":
		f.flagOf(line, key, value, strict, &batch.Critical, f.meta)
	case "approve":
		f.flagOf(line, key, value, strict, &batch.Approve, f.meta)
	case "parallel_safe":
		f.flagOf(line, key, value, strict, &batch.ParallelSafe, f.meta)
	case "estimate":
		d, ok := durationOf(strings.Trim(value, "`"))
		if !ok && strict {
			f.warn(line, "unread-estimate", "estimate: %s is no time such as 90s, 20 min or 1h30m, up to a day; left out", strconv.Quote(value))
		}
		batch.EstimateMS = d.Milliseconds()
	case "regression":
		f.regression(line, value, strict)
	case "when":
		value = strings.Trim(value, "`")
		if !strict && !condition(value) {
			f.warn(line, "unread-condition", "%q is prose, not a condition; the batch is run whatever it says", value)
			return
		}
		batch.When = value
	}
}

// condition tells an expression from prose ("**When:** after the freeze"): it compares, negates, or names a fact.
func condition(value string) bool {
	if value == "true" || value == "false" || strings.HasPrefix(value, "!") {
		return true
	}
	for _, sign := range []string{"==", "!=", "<", ">", "&&", "||", "env.", "env[", "batch."} {
		if strings.Contains(value, sign) {
			return true
		}
	}
	return false
}

// flagOf is flag for a batch: what the batch says wins over the plan, so that it is remembered.
func (f *filler) flagOf(line int, key, value string, strict bool, set *bool, batch int) {
	n := len(f.plan.Diagnostics)
	f.flag(line, key, value, set)
	if len(f.plan.Diagnostics) > n && !strict {
		f.plan.Diagnostics[n].Severity = SeverityWarning
	}
	f.said[saidKey{batch, key}] = true
}

// splitList reads "a, b", "[a, b]" and `"a", "b"`.
func splitList(value string) []string {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") {
		value = value[1 : len(value)-1]
	}
	var out []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.Trim(item, " \t\"'`"); item != "" {
			out = append(out, item)
		}
	}
	return out
}
