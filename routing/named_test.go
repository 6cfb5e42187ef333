package routing

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A batch waits for each earlier batch that its text mentions by number, and for no other.
func TestBatchWaitsForMentionedBatches(t *testing.T) {
	bodies := func(last string) string {
		var out []string
		for i := range 4 {
			out = append(out, fmt.Sprintf("Part %d\n**Files:**\n- Create: `p%d/a%d.py`", i+1, i, i))
		}
		return batches(append(out, "Last\n**Files:**\n- Create: `last/z.py`\n\n"+last)...)
	}
	for text, want := range map[string]string{
		"Call the config loader from batch 4.":                       "4",
		"This batch requires batch 1.":                               "1",
		"Use what batch 2 made.":                                     "2",
		"After batch 3 is done, go on.":                              "3",
		"Batch 4's loader is read here.":                             "4",
		"See B4 for the loader.":                                     "4",
		"Join BATCH 1 and batch 3.":                                  "1 3",
		"Join batches 1, 2 and 4.":                                   "1 2 4",
		"Join batches 1-3.":                                          "1 2 3",
		"Join what batch 1, batch 2, and batch 3 made.":              "1 2 3",
		"Do not start before batch 3 is done.":                       "3",
		"Don't begin until batch 3 is merged.":                       "3",
		"This cannot work without batch 2.":                          "2",
		"Do not break what batch 2 made.":                            "2",
		"It does not need batch 3, but it reads what batch 2 made.":  "2",
		"It needs batch\n2 to be there.":                             "2",
		"- a list\n- with **batch 2** in it":                         "2",
		"It is independent of batch 2.":                              "",
		"It does not need batch 3.":                                  "",
		"It does not\nneed batch 3.":                                 "",
		"It doesn't depend on batch 3.":                              "",
		"Unlike batch 1, it has no tests.":                           "",
		"It works without batch 2.":                                  "",
		"It may run in parallel with batch 2.":                       "",
		"Do not break the API of batch 2.":                           "2",
		"It is not part of batch 2.":                                 "",
		"No batch 2 code is used.":                                   "",
		"It isn't related to batch 2.":                               "",
		"There's no need for batch 2.":                               "",
		"It may be done before batch 2.":                             "",
		"It cannot be done before batch 2.":                          "2",
		"Parallel with: batch 2":                                     "",
		"**Independent of:** batches 1 and 2":                        "",
		"Requires: batch 1\nBlocked by: B2, B3":                      "1 2 3",
		"It runs alongside batches 2 and 3.":                         "",
		"Batch 2 is not needed here.":                                "",
		"Batch 2 and this one are independent.":                      "",
		"Neither batch 2 nor batch 3 is needed.":                     "",
		"There is no dependency on batch 2.":                         "",
		"The word batch 9 names nothing, and so does phase 2.":       "",
		"Batch 5 is this one, and task 1 is its own.":                "",
		"A batch of 4 and a minibatch 4 and batch 44 are no batches": "",
		"```sh\nrun --batch 4 # batch 4\n```":                        "",
		"Set `batch 4` in the code.":                                 "",
		"Use what batch 2 makes of a `batch`.":                       "2",
	} {
		d := decided(t, bodies(text), Options{})
		var got []string
		for _, e := range d.Edges {
			if e.To == "5" {
				got = append(got, e.From)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q\n%s%s", text, diff, arrows(d))
		}
	}
}

// The reason quotes the text, and its line is that of the mention.
func TestMentionReasonQuotesText(t *testing.T) {
	d := decided(t, batches("A\n**Files:**\n- Create: `a/a.py`",
		"B\n**Files:**\n- Create: `b/b.py`\n\nHere is\nsome text. For each of the lines in it, without an end, **call** "+
			"the config\nloader from batch 1 and then go home and do no more."), Options{})
	want := `1 -> 2 text: the text says "call the config loader from batch 1 and then go home …"`
	if diff := cmp.Diff(want, arrows(d)); diff != "" || d.Edges[0].Line != 17 {
		t.Errorf("%s, line %d", diff, d.Edges[0].Line)
	}
}

// A mention of a later batch does not reverse the order of the plan.
func TestLaterMentionKeepsPlanOrder(t *testing.T) {
	d := decided(t, batches("A\n**Files:**\n- Create: `a/a.py`\n\nBatch 2 uses it.", "B\n**Files:**\n- Create: `b/b.py`"),
		Options{})
	if arrows(d) != "" {
		t.Error(arrows(d))
	}
}

// Each format has its own word for a batch, and the ids of tasks count as well.
func TestMentionsInOtherFormats(t *testing.T) {
	for text, want := range map[string]string{
		"# P\n\n### Task 1: A\n\n**Files:**\n- Create: `a/a.go`\n\n### Task 2: B\n\n**Files:**\n- Create: `b/b.go`\n\nUse the store from Task 1.\n":                                    `1 -> 2 text: the text says "Use the store from Task 1"`,
		"# P\n\n### Task 1: A\n\n**Files:**\n- Create: `a/a.go`\n\n### Task 2: B\n\n**Files:**\n- Create: `b/b.go`\n\nUse batch 1.\n":                                                  "",
		"# T\n\n## Phase 1: Setup\n\n- [ ] T001 Make a\n\n## Phase 2: Core\n\n- [ ] T002 Make b with T001\n":                                                                           `1 -> 2 text: the text says "T002 Make b with T001"; phase 2 is after phase 1`,
		"# T\n\n## Phase 1: Setup\n\n- [ ] T001 Make a\n\n## Phase 2: Core\n\n- [ ] T002 Make b\n\n## Phase 3: End\n\n- [ ] T003 Make c with T002\n":                                   "1 -> 2 wave: phase 2 is after phase 1\n2 -> 3 text: the text says \"T003 Make c with T002\"; phase 3 is after phase 2",
		"# P\n\n## Batch 1: A\n\n### Task 1.1: x\n\n**Files:**\n- Create: `a/a.go`\n\n## Batch 2: B\n\n### Task 2.1: y\n\n**Files:**\n- Create: `b/b.go`\n\nUse what task 1.1 made.\n": `1 -> 2 text: the text says "Use what task 1.1 made"`,
	} {
		if diff := cmp.Diff(want, arrows(decided(t, text, Options{}))); diff != "" {
			t.Errorf("%s%s", diff, text)
		}
	}
}

// A long text that mentions a batch many times gives one edge. The memory that is allocated to read it grows with its
// length, not with the square of its length.
func TestRepeatedMentionsGiveOneEdge(t *testing.T) {
	text := "A\n**Files:**\n- Create: `a/a.py`"
	for _, word := range []string{"batch 1 ", "batch 1, ", "not batch 1 ", "batch 1, 1, 1 and 1-99 ", "batch 1\n",
		"`a` batch 1 "} {
		var took []uint64
		for _, size := range []int{1 << 14, 1 << 16} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d := decided(t, batches(text, "B\n**Files:**\n- Create: `b/b.py`\n\n"+strings.Repeat(word, size/len(word))),
				Options{})
			runtime.ReadMemStats(&after)
			took = append(took, after.TotalAlloc-before.TotalAlloc)
			if len(d.Edges) != 1 {
				t.Errorf("%q: %d edges", word, len(d.Edges))
			}
		}
		if took[1] > 8*took[0] { // 4 if it is linear, 16 if it is quadratic
			t.Errorf("%q: four times the text takes %d bytes instead of %d", word, took[1], took[0])
		}
	}
}
