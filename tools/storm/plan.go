package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// batches is the length of the plan.
const batches = 12

// step is a batch of the plan. Steps are numbered from 1.
type step struct {
	needs []int
	pair  bool // writes the same line of the same file as another, independent step
	flaky bool // its first attempt, or one candidate of a tournament, makes a change that the gate refuses
}

// steps draws the batches: some without needs, some that need one or two others, two that conflict, and two that fail
// at first, with dependants if there are any.
func steps(rnd *rand.Rand) []step {
	list := make([]step, batches+1)
	needed := map[int]bool{}
	for n := 2; n <= batches; n++ {
		if rnd.IntN(5) < 2 {
			continue
		}
		for range 1 + rnd.IntN(2) {
			if need := 1 + rnd.IntN(n-1); !slices.Contains(list[n].needs, need) {
				list[n].needs, needed[need] = append(list[n].needs, need), true
			}
		}
		slices.Sort(list[n].needs)
	}
	one := 1 + rnd.IntN(batches)
	other := 1 + (one-1+1+rnd.IntN(batches-1))%batches
	list[one].pair, list[other].pair = true, true
	for left, try := 2, 0; left > 0; try++ {
		if n := 1 + rnd.IntN(batches); !list[n].flaky && (needed[n] || try > 40) {
			list[n].flaky = true
			left--
		}
	}
	return list
}

// changes lists the files that the commit of a batch must change, sorted.
func (r *repository) changes(n int) []string {
	out := []string{fmt.Sprintf("marks/%d.txt", n)}
	if r.workers == 0 {
		out = append(out, "order.txt")
	}
	if r.steps[n].pair {
		out = append(out, "pair.txt")
	}
	return append(out, fmt.Sprintf("parts/%d.txt", n))
}

// act returns the shell text that does the work of a batch, except for its part. It leaves a mark, so that repeated
// work is visible, and appends to a common file if all batches write one. The first attempt of a flaky batch leaves a
// wrong mark; in a tournament, all candidates but one leave a right one.
func (r *repository) act(n int) string {
	text := fmt.Sprintf("echo %d >> marks/%d.txt\n", n, n)
	if r.steps[n].flaky {
		text = fmt.Sprintf(
			"case \"$RUNPLAN_ATTEMPT${RUNPLAN_VARIANT:-}\" in 1|1vanilla) echo bad;; *) echo %d;; esac >> marks/%d.txt\n", n, n)
	}
	if r.steps[n].pair {
		text += fmt.Sprintf("echo %d >> pair.txt\n", n)
	}
	if r.workers == 0 {
		text += fmt.Sprintf("echo %d >> order.txt\n", n)
	}
	return text
}

// daemon leaves a process that cannot be found by session, group or environment.
const daemon = "(setsid env -i /bin/sleep 60 >/dev/null 2>&1 </dev/null &)\n"

// plan has batches that write files, run shell blocks, check commands, and leave child processes in their process group
// and outside of it.
func (r *repository) plan() string {
	var b strings.Builder
	b.WriteString("# Storm\n\n")
	fence := func(info, text string) { fmt.Fprintf(&b, "```%s\n%s```\n\n", info, text) }
	for n := 1; n <= batches; n++ {
		fmt.Fprintf(&b, "## Batch %d: Part %d\n\n", n, n)
		var needs []string
		for _, need := range r.steps[n].needs {
			needs = append(needs, fmt.Sprintf("batch-%d", need))
		}
		if len(needs) > 0 {
			fmt.Fprintf(&b, "depends_on: %s\n\n", strings.Join(needs, ", "))
		}
		fmt.Fprintf(&b, "### Task %d: Write part %d\n\n", n, n)
		fence(fmt.Sprintf("text file=parts/%d.txt", n), fmt.Sprintf("part %d\n", n))
		switch n % 3 {
		case 0:
			fence("sh", r.act(n))
			fmt.Fprintf(&b, "Run: `grep -c . parts/%d.txt`\nExpected: PASS\n\n", n)
		case 1:
			fence("sh", "sleep 60 &\nsetsid sleep 60 >/dev/null 2>&1 &\n(trap '' TERM; sleep 3; echo late > late.txt) &\n"+
				r.act(n)+"sleep 0.03\n")
		case 2:
			fence("sh", daemon+r.act(n)+"sleep 0.06\necho cache > build.log\n")
		}
	}
	return b.String()
}

// rogue is an agent that does the same as the plan. Every other time it commits itself, sometimes on its own branch.
func (r *repository) rogue() string {
	var b strings.Builder
	b.WriteString(
		"#!/usr/bin/env bash\nset -eu\nn=$RUNPLAN_BATCH\necho \"working on $n\"\necho \"part $n\" > \"parts/$n.txt\"\ncase " +
			"$n in\n")
	for n := 1; n <= batches; n++ {
		fmt.Fprintf(&b, "%d)\n%s;;\n", n, r.act(n))
	}
	b.WriteString("esac\n" + daemon + `
setsid sleep 60 >/dev/null 2>&1 &
sleep 60 &
if [ $((n % 6)) = 5 ]; then git checkout -q -b "mine-$n-$$"; git add -A; git commit -q -m "mine $n"; fi
if [ $((n % 2)) = 0 ]; then git add -A; git commit -q -m "mine $n"; fi
echo cache > build.log
sleep 0.0$((n % 9))
`)
	return b.String()
}

// look is the gate: each batch has left one mark and no wrong one, and none was executed twice.
const look = `#!/usr/bin/env bash
set -eu
[ -n "${STORM_LOOKS:-}" ] || { sleep 60 & (setsid env -i /bin/sleep 60 >/dev/null 2>&1 </dev/null &); }
for f in marks/[0-9]*.txt; do
	[ ! -e "$f" ] || [ "$(cat "$f")" = "$(basename "$f" .txt)" ] || { echo "$f: $(cat "$f")"; exit 1; }
done
for f in order.txt pair.txt; do
	[ ! -e "$f" ] || [ "$(wc -l < "$f")" = "$(sort -un "$f" | wc -l)" ] || { echo "$f: twice"; exit 1; }
done
[ -n "${STORM_LOOKS:-}" ] || sleep 0.04
`
