package planparse

import (
	"bytes"
	"strconv"
	"strings"
)

// metadata reads "key: value" and "**Key:** value" lines right under the heading of a batch or the title.
func (f *filler) metadata(i int) {
	m := f.marks[i]
	if m.kind == markHeading {
		f.meta, f.head, f.key = -1, m == f.title, ""
		if o := m.owner; o.batch >= 0 && f.plan.Batches[o.batch].StartLine == m.line {
			f.meta = int(o.batch)
		} else if f.plan.Format == FormatKiro {
			f.meta = f.onlyItem(i)
		}
		return
	}
	if o := m.owner; m.kind == markBox && o.self && f.plan.Batches[o.batch].StartLine == m.line {
		f.meta, f.head, f.key = int(o.batch), false, "" // an item that is a batch
		return
	}
	if value, found := bytes.CutPrefix(m.text, []byte("_Depends: ")); found && m.owner.batch >= 0 {
		f.wanted = append(f.wanted, want{int(m.owner.batch), m.line, string(bytes.Trim(value, "_ ")), false, true})
		return
	}
	if f.meta < 0 && !f.head {
		if m.owner.batch >= 0 {
			f.strayKey(m)
		}
		return
	}
	if m.kind == markItem && f.key != "" && f.meta >= 0 { // a YAML list below "depends_on:"
		f.batchKey(m.line, f.key, string(m.text), true)
		return
	}
	key, value, bold, ok := cutKey(m)
	if !ok && f.wrapped == m.line && m.kind == markText {
		f.wrapped++ // the rest of "**Goal:** …" on the next line
		return
	}
	if f.wrapped = 0; bold {
		f.wrapped = m.line + 1
	}
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
	for bold { // "**Status:** pending **Depends:** Task 1.1"
		first, rest, found := strings.Cut(value, " **")
		if !found {
			break
		}
		next, more, _, ok := cutKey(&mark{kind: markText, text: []byte("**" + rest)})
		if !ok {
			break
		}
		f.batchKey(m.line, key, strings.TrimRight(first, " |·"), false)
		key, value = next, more
	}
	f.batchKey(m.line, key, value, !bold)
}

// onlyItem returns the batch of the only item below a heading, whose keys are above its box: "#### Task Group 2: API",
// "**Dependencies:** Task Group 1", "- [ ] 2.0 Complete the API". It is -1 without such an item.
func (f *filler) onlyItem(heading int) int {
	batch := -1
	for i := heading + 1; i < len(f.marks) && f.marks[i].kind != markHeading; i++ {
		if o := f.marks[i].owner; f.marks[i].kind == markBox && o.self {
			if batch >= 0 {
				return -1
			}
			batch = int(o.batch)
		}
	}
	return batch
}

// cutKey splits a metadata line. Prose ("We need this: …") does not count: a bare key has no spaces.
func cutKey(m *mark) (key, value string, bold, ok bool) {
	if (m.kind != markText && m.kind != markItem) || len(m.text) == 0 {
		return "", "", false, false
	}
	text := m.text
	if rest, found := bytes.CutPrefix(text, []byte("**")); found {
		k, v, found := bytes.Cut(rest, []byte("**"))
		name := bytes.TrimRight(k, ":： \t")
		colon := len(name) < len(bytes.TrimSpace(k))
		if k = name; !colon {
			v, colon = cutColon(v)
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

// batchKey applies one line. strict is runplan's own form, in which an unknown batch is an error. In the prose form
// ("**Depends on:** Task 1 GREEN"), unknown names are ignored.
func (f *filler) batchKey(line int, key, value string, strict bool) {
	batch := &f.plan.Batches[f.meta]
	if dependsKey(key) {
		f.wanted = append(f.wanted, want{f.meta, line, value, strict && key == "depends_on", false})
		return
	}
	switch key {
	case "context_refs", "context":
		if key == "context" && !strict {
			return
		}
		for _, ref := range splitList(value) {
			if ref, ok := cleanPath(ref); ok {
				batch.ContextRefs = append(batch.ContextRefs, ref)
			} else {
				f.warn(line, "path-outside-workspace", "context_refs: %s is not a path in the workspace; it is ignored", ref)
			}
		}
	case "status":
		word := strings.Trim(strings.ToLower(firstWord(strings.TrimLeft(value, "*_ "))), "*_.,;!")
		f.said[saidKey{f.meta, key}] = saysDone(value) || word == "done" || word == "completed" || word == "complete"
	case "title":
		if batch.Title == "" && len(batch.Tasks) > 0 {
			batch.Title, batch.Tasks[0].Title = value, value
		}
	case "critical", "approve", "parallel_safe", "test_first":
		if key == "critical" && !strict && len(strings.Fields(value)) > 3 {
			return // "**CRITICAL**: No user story can begin until this phase is complete"
		}
		n := len(f.plan.Diagnostics)
		f.flag(line, key, value, map[string]*bool{"critical": &batch.Critical, "approve": &batch.Approve,
			"parallel_safe": &batch.ParallelSafe, "test_first": &batch.TestFirst}[key])
		if len(f.plan.Diagnostics) > n && !strict {
			f.plan.Diagnostics[n].Severity = SeverityWarning
		}
		f.said[saidKey{f.meta, key}] = true // it overrides the value of the plan
	case "mutants":
		f.mutants(line, value, strict)
	case "estimate":
		d, ok := durationOf(strings.Trim(value, "`"))
		if !ok && strict {
			f.warn(line, "unread-estimate", "estimate: %s is not a time such as 90s, 20 min or 1h30m, up to a day; it is "+
				"ignored",
				strconv.Quote(value))
		}
		batch.EstimateMS = d.Milliseconds()
	case "regression":
		f.regression(line, value, strict)
	case "when":
		value = strings.Trim(value, "`")
		if !strict && !condition(value) {
			f.warn(line, "unread-condition", "%q is prose, not a condition; the batch runs anyway", value)
			return
		}
		batch.When = value
	default:
		f.unknownKey(line, key, strict)
	}
}

// condition reports whether a value is an expression and not prose ("**When:** after the freeze"): it compares,
// negates, or names a fact.
func condition(value string) bool {
	return value == "true" || value == "false" || strings.HasPrefix(value, "!") ||
		containsAny(value, "==", "!=", "<", ">", "&&", "||", "env.", "env[", "batch.")
}

// splitList reads "a, b", "[a, b]" and `"a", "b"`.
func splitList(value string) []string {
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
