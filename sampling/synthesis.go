package sampling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
)

// SynthesisInput is the input for the text of round 2 (SAMP-08). The text comes before the normal brief of the batch,
// which contains the task itself.
type SynthesisInput struct {
	Batch    string // number
	Decision Decision
	Attempts []Attempt
	Tokens   int // budget of the text, of 4 bytes each; at least [LeastTokens]
}

// LeastTokens is the smallest budget of a synthesis brief: below it the facts would not fit.
const LeastTokens = 600

// Attempt is the part of a candidate that the synthesis gets.
type Attempt struct {
	Candidate
	Terms       []Term   // of its score, by [Scorer.Explain]
	FailedGates []string // names of the gates that block
	Failing     []string // names of tests that fail
	Files       []string // that it changed
	Digest      string   // digest of the gate results
	Diff        string   // diff of its change
}

// Brief writes the text for the agent of round 2: the situation, the useful parts of each attempt, and then the
// attempts with their gate results and diffs, cut to the budget. The same input gives the same bytes. Text of other
// programs is in fences that it cannot close.
func Brief(in SynthesisInput) (string, error) {
	set, err := prompt.LoadEmbedded("sampling", prompts)
	if err != nil {
		return "", err
	}
	if len(in.Attempts) == 0 {
		return "", fmt.Errorf("write the synthesis brief of batch %s: there are no attempts to read", in.Batch)
	}
	budget := 4 * max(in.Tokens, LeastTokens)
	head, err := set.Render(Synthesis, map[string]string{
		"batch":     code(in.Batch),
		"count":     strconv.Itoa(len(in.Attempts)),
		"situation": shorten(situation(in.Decision), budget/8),
		"take":      shorten(facts(in), budget/4),
	})
	if err != nil {
		return "", err
	}
	return head + attempts(in.Attempts, budget-len(head)), nil
}

func situation(d Decision) string {
	return phrase.Join(d.Reasons, "\n", func(r string) string { return "- " + inline(r) })
}

// facts describes the differences of the attempts: what only one of them achieved, and what no attempt did.
func facts(in SynthesisInput) string {
	var b strings.Builder
	for _, a := range in.Attempts {
		fmt.Fprintf(&b, "- %s: %s\n", inline(a.name()), verdict(a, in.Decision.Leader))
		if won := wonBy(in.Attempts, a); len(won) > 0 {
			fmt.Fprintf(&b, "  - use its way of making these pass, which fail in each other attempt: %s\n", codes(won))
		}
		if only := onlyIn(in.Attempts, a.Number, func(a Attempt) []string { return a.Failing }); len(only) > 0 &&
			len(in.Attempts) > 1 {
			fmt.Fprintf(&b, "  - avoid its cause of these failures, which fail in no other attempt: %s\n", codes(only))
		}
		if only := onlyIn(in.Attempts, a.Number, func(a Attempt) []string { return a.Files }); len(only) > 0 &&
			len(in.Attempts) > 1 {
			fmt.Fprintf(&b, "  - only it changed %s; find out whether the batch needs that\n", codes(only))
		}
	}
	if all := inAll(in.Attempts, func(a Attempt) []string { return a.Failing }); len(all) > 0 {
		fmt.Fprintf(&b, "- no attempt made these pass, so find another way for them: %s\n", codes(all))
	}
	if all := inAll(in.Attempts, func(a Attempt) []string { return a.Files }); len(all) > 0 && len(in.Attempts) > 1 {
		fmt.Fprintf(&b, "- every attempt changed %s\n", codes(all))
	}
	return strings.TrimRight(b.String(), "\n")
}

func verdict(a Attempt, leader int) string {
	switch {
	case a.Void != "":
		return "has no verdict: " + code(a.Void)
	case !a.Measure.Passed && len(a.FailedGates) > 0:
		return "failed " + codes(a.FailedGates)
	case !a.Measure.Passed:
		return "failed its gates"
	case a.Number == leader:
		return fmt.Sprintf("passed, score %d, the best; start from its approach", a.Score)
	}
	return fmt.Sprintf("passed, score %d", a.Score)
}

// onlyIn returns the items that only the attempt with a number has, in their order.
func onlyIn(attempts []Attempt, number int, of func(Attempt) []string) []string {
	var out []string
	for _, a := range attempts {
		if a.Number == number {
			out = slices.Clone(of(a))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool {
		return slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Number != number && slices.Contains(of(a), s) })
	})
}

// wonBy returns the tests that fail in all other attempts with a verdict, but not in a. The tests of a must have run: it
// passed, or other tests of it failed.
func wonBy(attempts []Attempt, a Attempt) []string {
	if a.Void != "" || !a.Measure.Passed && len(a.Failing) == 0 {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(attempts), func(o Attempt) bool { return o.Number == a.Number })
	return slices.DeleteFunc(inAll(others, func(a Attempt) []string { return a.Failing }),
		func(test string) bool { return slices.Contains(a.Failing, test) })
}

// inAll returns what all attempts with a verdict have.
func inAll(attempts []Attempt, of func(Attempt) []string) []string {
	judged := slices.DeleteFunc(slices.Clone(attempts), func(a Attempt) bool { return a.Void != "" })
	if len(judged) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(of(judged[0])), func(s string) bool {
		return slices.ContainsFunc(judged, func(a Attempt) bool { return !slices.Contains(of(a), s) })
	})
}

// attempts writes each attempt within its share of room. Digests get two fifths of it, diffs the rest; longer ones
// get the unused room of short ones. In a small budget the heads are more useful than a small part of each diff.
func attempts(list []Attempt, room int) string {
	heads, digests, diffs := make([]string, len(list)), make([]string, len(list)), make([]string, len(list))
	for i, a := range list {
		heads[i], digests[i], diffs[i] = attemptHead(a), clean(a.Digest), clean(a.Diff)
	}
	all := strings.Join(heads, "")
	left := room - len(all) - 2*frame*len(list)
	if left <= 0 {
		return shorten(all, room)
	}
	for i, n := range shares(digests, left*2/5) {
		digests[i] = shorten(digests[i], n)
		left -= len(digests[i])
	}
	forDiffs := shares(diffs, left)
	var b strings.Builder
	for i := range list {
		b.WriteString(heads[i])
		block(&b, "Results of the gates:", digests[i], "")
		block(&b, "Its changes:", shorten(diffs[i], forDiffs[i]), "diff")
	}
	return b.String()
}

// frame limits the size of a fenced block without its text: the line above, and two fences.
const frame = 40 + 2*(longestFence+1)

// longestFence limits how many ~ may follow each other in foreign text. The fence around it has one more.
const longestFence = 20

func attemptHead(a Attempt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Candidate %d: %s\n", a.Number, inline(a.Slot.Variant.Name))
	switch {
	case a.Void != "":
		fmt.Fprintf(&b, "\nNo verdict: %s\n", code(a.Void))
	case !a.Measure.Passed:
		b.WriteString("\nFailed its gates.\n")
	default:
		fmt.Fprintf(&b, "\nPassed its gates. Score %d:\n\n", a.Score)
		for _, t := range a.Terms {
			fmt.Fprintf(&b, "- %s: %s\n", inline(t.Name), inline(t.Text))
		}
	}
	return b.String()
}

// block writes a fenced text, or nothing if it is empty.
func block(b *strings.Builder, title, text, info string) {
	if text != "" {
		fmt.Fprintf(b, "\n%s\n\n%s", title, fence.Around(info, text))
	}
}

// shares divides room among texts. Each gets the same, and the long ones get the unused room of short ones.
func shares(texts []string, room int) []int {
	out := make([]int, len(texts))
	order := lists.Order(texts, func(a, b string) int { return len(a) - len(b) })
	for k, i := range order {
		out[i] = min(len(texts[i]), room/(len(order)-k))
		room -= out[i]
	}
	return out
}

// shorten keeps the first lines that fit in limit bytes, and adds a line with the number of missing ones. It cuts
// the line at the limit if a good part fits, because a generated file may be a single line.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	lines := strings.Split(text, "\n")
	size, kept := 0, 0
	for kept < len(lines) && size+len(lines[kept])+1+len(more(len(lines)-kept-1)) <= limit {
		size += len(lines[kept]) + 1
		kept++
	}
	out := lines[:kept:kept]
	if n := limit - size - len("…\n") - len(more(len(lines)-kept-1)); n >= shortestCut {
		out = append(out, strings.ToValidUTF8(lines[kept][:n], "")+"…")
		kept++
	}
	if kept < len(lines) {
		out = append(out, more(len(lines)-kept))
	}
	if cut := strings.Join(out, "\n"); len(cut) <= limit {
		return cut
	}
	return ""
}

// shortestCut is the least part of a line that is worth showing.
const shortestCut = 80

func more(n int) string { return "… " + phrase.Count(n, "more line") }

// clean removes what a reader of foreign text does not see, and shortens lines of ~ that would need a longer fence.
func clean(text string) string {
	run := 0
	return strings.Trim(strings.Map(func(r rune) rune {
		if run++; r != '~' {
			run = 0
		}
		if run > longestFence {
			return -1
		}
		return r
	}, fence.Clean(text)), "\n")
}

// inline puts foreign text on one line, and escapes it so that its markdown has no effect on the text after it.
func inline(text string) string { return strings.ReplaceAll(phrase.Line(clean(text)), "`", "'") }

// code writes a foreign name as code.
func code(text string) string { return "`" + phrase.Cut(inline(text), longestName+1) + "`" }

// longestName limits a name in the facts, because names of generated tests can be very long.
const longestName = 120

// mostNames limits a list in the facts.
const mostNames = 8

func codes(names []string) string { return phrase.Few(lists.Map(names, code), mostNames) }
