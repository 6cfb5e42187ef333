package planparse

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// want is a dependency as the plan words it.
type want struct {
	batch, line int
	value       string
	strict      bool
	back        bool // a remark: only earlier batches count
}

// assignKeys names the batches, and reports numbers that are used twice.
func (b *builder) assignKeys() {
	used := map[string]bool{}
	first, next := map[string]int{}, map[string]int{}
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		base := cmp.Or(refSafe(batch.Number), slug(batch.Title))
		key := base
		for used[strings.ToLower(key)] {
			next[base]++
			key = fmt.Sprintf("%s-%d", base, next[base]+1)
		}
		used[strings.ToLower(key)] = true
		batch.Key = key
		if batch.Number == "" {
			continue
		}
		at, twice := first[batch.Number]
		switch {
		case !twice:
			first[batch.Number] = batch.StartLine
		case b.plan.Format == FormatRunPlan:
			b.report(SeverityError, batch.StartLine, "duplicate-batch",
				"batch %s was already opened at line %d: give it its own number", batch.Number, at)
		default:
			b.warn(batch.StartLine, "duplicate-id", "number %s was used before, at line %d; this one is called %s", batch.Number,
				at, key)
		}
	}
	b.duplicateTasks()
}

// duplicateTasks reports task numbers that occur twice in a batch. Numbers that start again in each batch
// are common and fine.
func (b *builder) duplicateTasks() {
	for i := range b.plan.Batches {
		seen := map[string]int{}
		for _, t := range b.plan.Batches[i].Tasks {
			if at, twice := seen[t.Number]; twice && t.Number != "" && at > 0 {
				b.warn(t.Line, "duplicate-id", "the number of task %s is already used, at line %d", t.Number, at)
				seen[t.Number] = -1 // once is enough
			} else if !twice {
				seen[t.Number] = t.Line
			}
		}
	}
}

var notInRef = lazyre.New(`[^0-9A-Za-z_.]+|\.\.+`)

// refSafe converts a number so that it is valid in a git ref: "3+4" becomes "3-4".
func refSafe(number string) string {
	key := strings.Trim(notInRef.ReplaceAllString(number, "-"), ".-")
	key = strings.Trim(key[:min(len(key), 40)], ".-")
	if strings.HasSuffix(strings.ToLower(key), ".lock") {
		key = key[:len(key)-len(".lock")] + "-lock" // git refuses refs that end in .lock
	}
	return key
}

// slug names a batch without a number after its title.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	s := strings.Join(words, "-")
	return cmp.Or(strings.Trim(s[:min(len(s), 24)], "-"), "part")
}

// beforeNote replaces the characters that begin a note.
var beforeNote = strings.NewReplacer("（", "(", "；", "(", ";", "(")

// resolveDependencies turns the plan's references into keys, and reports unknown ones and cycles.
func (b *builder) resolveDependencies() {
	r := b.refs()
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		if _, on, found := strings.Cut(strings.ToLower(batch.Title), "(depends on"); found {
			on, _, _ = strings.Cut(on, ")")
			b.wanted = append(b.wanted, want{i, batch.StartLine, strings.TrimLeft(on, " :"), false, true})
		}
		if list := batch.DependsOn; len(list) > 0 { // todos list their dependencies
			batch.DependsOn = nil
			for _, v := range list {
				b.depend(r, want{i, batch.StartLine, v, true, false}, v)
			}
		}
	}
	for _, w := range b.wanted {
		value, _, note := strings.Cut(beforeNote.Replace(w.value), "(")
		if note && !w.strict && nothing(value) { // "None (can run in parallel with Task 1)"
			continue
		}
		items := splitList(w.value)
		if !w.strict && slices.ContainsFunc(items, func(item string) bool { _, ok := lookUp(r, item); return !ok }) {
			items = mentions(w.value) // not a list of ids
		}
		if len(items) == 0 && !w.strict && !w.back && !nothing(w.value) {
			b.warn(w.line, "unread-dependency", "%q does not name a batch; no order is derived from it", w.value)
		}
		for _, item := range items {
			for _, one := range expand(r, item) {
				if !nothing(one) {
					b.depend(r, w, one)
				}
			}
		}
	}
	b.findCycle()
	h := b.plan.Header
	for i := range b.plan.Batches {
		batch := &b.plan.Batches[i]
		if bytes.Contains(b.lineText(batch.StartLine), []byte("**CRITICAL")) {
			batch.Critical = true
		}
		if h.Critical && !b.said[saidKey{i, "critical"}] {
			batch.Critical = true
		}
		if h.ParallelSafe && !b.said[saidKey{i, "parallel_safe"}] {
			batch.ParallelSafe = true
		}
		if h.Approve && !b.said[saidKey{i, "approve"}] {
			batch.Approve = true
		}
	}
}

// refs maps the names by which a batch can be called to the batch: key, number, and the numbers of tasks.
func (b *builder) refs() map[string]int {
	r := map[string]int{}
	add := func(kind, name string, i int) {
		for _, n := range []string{strings.ToLower(name), strings.TrimLeft(strings.ToLower(name), "0")} {
			if _, taken := r[kind+n]; !taken && n != "" {
				r[kind+n] = i
			}
		}
	}
	for i := range b.plan.Batches {
		add("", b.plan.Batches[i].Key, i)
	}
	for i := range b.plan.Batches {
		add("", b.plan.Batches[i].Number, i)
	}
	for i := range b.plan.Batches {
		for _, t := range b.plan.Batches[i].Tasks {
			add("task:", t.Number, i)
			for _, s := range t.Steps {
				if l := parseLabel([]byte(s.Text)); l.kind == labelSub {
					add("task:", l.id, i)
				}
			}
		}
	}
	return r
}

func (b *builder) depend(r map[string]int, w want, item string) {
	to, ok := lookUp(r, item)
	batch := &b.plan.Batches[w.batch]
	switch {
	case !ok && w.strict:
		b.report(SeverityError, w.line, "unknown-dependency", "batch %s depends on %q, which is not a batch of this plan",
			batch.Key, item)
	case w.back && (!ok || to > w.batch):
	case !ok:
		b.warn(w.line, "unread-dependency", "%q is not a batch of this plan; no order is derived from it", item)
	case to == w.batch && w.strict:
		b.report(SeverityError, w.line, "dependency-cycle", "batch %s depends on itself", batch.Key)
	case to != w.batch:
		if key := b.plan.Batches[to].Key; !slices.Contains(batch.DependsOn, key) {
			batch.DependsOn = append(batch.DependsOn, key)
		}
	}
}

// lookUp finds a batch by "batch-2", "2", "Task 3", "phase 1" or a key.
func lookUp(r map[string]int, item string) (int, bool) {
	name := strings.ToLower(strings.Trim(item, " \t*`\"'.。；"))
	if to, ok := r[name]; ok {
		return to, true
	}
	if to, ok := r[strings.TrimLeft(name, "0")]; ok {
		return to, true
	}
	n := 0
	for n < len(name) && isLetter(name[n]) {
		n++
	}
	id := strings.TrimLeft(name[n:], " -_#:")
	kind, _ := unitWord(name[:n])
	for _, id := range []string{id, strings.TrimLeft(id, "0")} {
		if to, ok := r["task:"+id]; ok && kind == unitTask {
			return to, true
		}
		if to, ok := r[id]; ok && kind != unitNone {
			return to, true
		}
	}
	to, ok := r["task:"+name]
	return to, ok
}

// expand returns the items of a range: "task 1", "task 2" and "task 3" for "task 1-3". A name with a hyphen is not a
// range.
func expand(r map[string]int, item string) []string {
	from, to, found := strings.Cut(item, "-")
	word := strings.TrimRight(from, "0123456789")
	first, last := atoi(from[len(word):]), atoi(strings.TrimPrefix(to, word))
	if _, known := lookUp(r, item); known || !found || first < 0 || last <= first || last-first > len(r) {
		return []string{item}
	}
	var out []string
	for n := first; n <= last; n++ {
		out = append(out, word+strconv.Itoa(n))
	}
	return out
}

// mentions finds "Task 1", "Batch 2", "Phase 3", "任务1" and "T012" in prose.
func mentions(text string) []string {
	var out []string
	words := strings.FieldsFunc(strings.ReplaceAll(text, "–", "-"),
		func(r rune) bool { return strings.ContainsRune(" \t,;()，、；。（）", r) })
	for i, w := range words {
		w = strings.Trim(w, "*`.:")
		if w != "" && (scanTNumber([]byte(w)) == len(w) || w[0] == 'U' && atoi(strings.ReplaceAll(w[1:], "-U", "")) >= 0) {
			out = append(out, w) // also "U1-U3"
		}
		kind, word := unitWord(strings.TrimSuffix(strings.ToLower(w), "s"))
		if kind == unitNone {
			var rest []byte
			if kind, word, rest, _ = cutKeyword([]byte(w)); len(rest) > 0 { // "任务1"
				if kind != unitNone && kind != unitStep && scanID(rest) == len(rest) {
					out = append(out, word+" "+string(rest))
				}
				continue
			}
		}
		if kind == unitNone || kind == unitStep {
			continue
		}
		for _, next := range words[i+1:] { // "Tasks 1, 2 and 3"
			next = strings.Trim(next, "*`.:")
			if next == "and" || next == "&" || next == "+" || next == "Group" || next == "Groups" { // "Task Groups 1 and 2"
				continue
			}
			if next == "" || scanID([]byte(next)) != len(next) || !hasDigit([]byte(next)) && len(next) > 1 {
				break
			}
			out = append(out, word+" "+next)
		}
	}
	return out
}

// nothing reports whether the value of depends_on means no dependency.
func nothing(value string) bool {
	word, _, _ := strings.Cut(strings.ToLower(strings.Trim(value, " \t*`.()[]_。")), " ")
	return slices.Contains([]string{"", "none", "nothing", "no", "n/a", "na", "null", "-", "—", "~",
		"无", "無", "なし", "없음", "keine", "ninguna", "aucune", "nenhuma", "нет"},
		strings.Trim(word, ".,;:"))
}

// findCycle reports the first dependency cycle.
func (b *builder) findCycle() {
	index := map[string]int{}
	for i := range b.plan.Batches {
		index[b.plan.Batches[i].Key] = i
	}
	var way []int // from the first batch to the visited batch
	open, done := map[int]bool{}, map[int]bool{}
	var visit func(i int) bool
	visit = func(i int) bool {
		if open[i] {
			b.reportCycle(append(way[slices.Index(way, i):], i))
			return true
		}
		if done[i] {
			return false
		}
		way, open[i], done[i] = append(way, i), true, true
		for _, key := range b.plan.Batches[i].DependsOn {
			if visit(index[key]) {
				return true
			}
		}
		way, open[i] = way[:len(way)-1], false
		return false
	}
	for i := range b.plan.Batches {
		if visit(i) {
			return
		}
	}
}

func (b *builder) reportCycle(way []int) {
	line := b.plan.Batches[way[0]].StartLine
	if at := slices.IndexFunc(b.wanted, func(w want) bool { return w.batch == way[0] }); at >= 0 {
		line = b.wanted[at].line
	}
	keys := lists.Map(way, func(i int) string { return b.plan.Batches[i].Key })
	b.report(SeverityError, line, "dependency-cycle", "batches wait for each other: %s", strings.Join(keys, " → "))
}
