package browser

import (
	"testing"
	"time"
)

const shopConfig = `
[routing]
mode = "team"
max_workers = 4
[sampling]
sample_on_retry = true
[run]
max_attempts = 2
[[gates.command]]
name = "wording"
run = "! grep -rnE 'TODO|oops' src 2>/dev/null | sed 's/:/: not finished: /2' | grep ."
`

const shopAgent = `
echo "I read the brief of batch $RUNPLAN_BATCH."
mkdir -p src
f=src/part$RUNPLAN_BATCH.txt
for i in 1 2 3; do echo "writing $f, part $i of 3"; sleep 0.1; done
case $RUNPLAN_BATCH in
3)
	case ${RUNPLAN_VARIANT:-$RUNPLAN_ATTEMPT} in
	1 | vanilla) printf 'say what went wrong\nTODO: in which words?\n' >$f ;;
	w*) for i in 1 2 3 4 5 6 7 8 9; do echo "message $i: what went wrong"; done >$f ;;
	*) for i in $(seq 14); do echo "message $i: what went wrong, and what to do now"; done >$f ;;
	esac ;;
5) hold five; echo "money back" >$f ;;
6) hold five; echo "a table of the month" >$f ;;
*) for i in $(seq $((RUNPLAN_BATCH * 3))); do echo "line $i of part $RUNPLAN_BATCH"; done >$f ;;
esac
echo "done with batch $RUNPLAN_BATCH"
`

const shopPlan = `---
parallel_safe: true
---
# Payments by card

## Batch 1: A ledger for payments

Write src/part1.txt.

## Batch 2: Read cards from the form
depends_on: 1

Write src/part2.txt.

## Batch 3: Tell customers what went wrong
depends_on: 1
critical: true

Write src/part3.txt.

## Batch 4: Limits for each customer
depends_on: 1
approve: yes

Write src/part4.txt.

## Batch 5: Refunds
depends_on: 2

Write src/part5.txt.

## Batch 6: The report of the month
depends_on: 1

Write src/part6.txt.

## Batch 7: Wire it together
depends_on: 3, 4, 5, 6

Write src/part7.txt.
`

// shop is a project with a run that shows much at once: merged, failed and sampled, at work, and waiting for a person.
func shop(t *testing.T) (*project, *started, page) {
	t.Helper()
	p := newProject(t, shopConfig, shopAgent, map[string]string{
		"plan.md": shopPlan, "orders/orders.go": "// Package orders takes orders.\npackage orders\n",
		"knowledge/blueprints/candidates/orders.yaml": ordersBlueprint,
	})
	p.queue()
	p.do(0, "note", "the design of the receipt is on the wall")
	p.do(0, "critical", "the bank changes its address on Monday")
	run := p.start("run", "--plain", "--agent", "fake", "plan.md")
	return p, run, p.serve("127.0.0.1:0")
}

func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("SKIPPED: no -screenshots; make screenshots makes them")
	}
	p, run, at := shop(t)
	b := open(t, at.url)
	b.follow("Payments by card")
	b.reads("waits for you")
	b.until(`document.querySelectorAll("#rows .state.busy").length > 1`)
	b.until(`document.querySelector("#b-3").textContent.includes("merged")`)
	time.Sleep(time.Second)
	for _, x := range []struct {
		name  string
		width int64
		dark  bool
	}{{"run-light", 1200, false}, {"run-dark", 1200, true}, {"run-phone", 390, false}} {
		b.look(x.name, x.width, x.dark)
	}
	b.follow("candidates side by side")
	b.look("candidates-light", 1200, false)
	b.look("candidates-dark", 1200, true)
	b.follow("batch 3")
	b.look("batch-light", 1200, false)
	b.look("batch-dark", 1200, true)
	b.follow("Needs you")
	b.look("waiting-light", 1200, false)
	b.look("waiting-dark", 1200, true)
	b.look("waiting-phone", 390, true)
	b.press("#main section", "Approve")
	b.reads("Approved.")
	b.follow("Runs")
	b.reads("4 of 7 merged") // once it is taken up, no other merge makes another tree of it
	p.allow("five")
	p.wait(run)
	b.reads("7 of 7 merged")
	b.look("runs-light", 1200, false)
	b.look("runs-dark", 1200, true)
	b.look("runs-phone", 390, false)
	b.follow("Learning")
	b.look("learning-light", 1200, false)
	b.look("learning-dark", 1200, true)
}
