package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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

// limitedAgent configures an agent that reports a rate limit.
const limitedAgent = `
[agents.limited]
preset = "claude"
command = ["bash", "-c", "cat >/dev/null; echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":429,\"num_turns\":1,\"result\":\"API Error: 429 rate limit\",\"total_cost_usd\":0,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}'; exit 1"]
`

// receiptsPlan is a plan whose third batch fails because the agent leaves a TODO in its file.
const receiptsPlan = "---\nparallel_safe: true\n---\n# Receipts\n\n## Batch 1: Number them\n\nWrite " +
	"src/part1.txt.\n\n## Batch 2: Keep them\n\nWrite src/part2.txt.\n\n## Batch 3: Print them\n\nWrite src/part3.txt.\n"

// shop returns a project with a run that shows many states at once: merged, failed and sampled, running, and waiting
// for a person.
func shop(t *testing.T) (*project, *started, page) {
	t.Helper()
	p := newProject(t, limitedAgent+shopConfig, shopAgent, map[string]string{
		"plan.md": shopPlan, "receipts.md": receiptsPlan,
		"orders.md":        "# Old orders\n\n## Batch 1: Import them\n\nWrite src/part1.txt.\n",
		"orders/orders.go": "// Package orders takes orders.\npackage orders\n",
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
	fresh := open(t, newProject(t, "", "", map[string]string{"README.md": "# Shop\n"}).serve("127.0.0.1:0").url)
	fresh.picture("runs-empty")
	fresh.follow("Needs you")
	fresh.picture("waiting-empty")

	p, run, at := shop(t)
	b := open(t, at.url)
	b.follow("Payments by card")
	b.reads("waits for you")
	b.until(`document.querySelectorAll("#rows .state.busy").length > 1`)
	b.until(`document.querySelector("#b-3").textContent.includes("merged")`)
	time.Sleep(time.Second)
	b.picture("run")
	page := eval[string](b, "location.pathname")
	visit := func(path string) { b.do(chromedp.Navigate(at.base + path)) }
	for _, x := range []struct{ name, path string }{
		{"candidates", "candidates/3"}, {"batch", "batch/3"}, {"batch-working", "batch/5"}, {"log", "log"},
		{"search", "search?q=TODO"},
		{"stop", "do/cancel"}, {"report", "report"}, {"trace", "trace"},
	} {
		visit(page + x.path)
		time.Sleep(300 * time.Millisecond)
		b.picture(x.name)
	}
	visit("/waiting")
	b.picture("waiting")
	b.press("#main section", "Approve")
	b.reads("Approved.")
	b.follow("Runs")
	b.reads("4 of 7 merged") // once it is merged, no other merge changes its tree
	p.allow("five")
	p.wait(run)
	b.reads("7 of 7 merged")
	b.follow("Payments by card")
	b.picture("run-done")

	p.do(1, "run", "--plain", "--agent", "fake", "--max-attempts", "1", "--no-sample", "receipts.md")
	b.follow("Runs")
	b.follow("Receipts")
	b.picture("run-failed")
	b.follow("Go on with the run")
	b.picture("resume")
	b.follow("Back, change nothing")
	b.follow("Discard the run")
	b.picture("discard")
	b.follow("Back, change nothing")
	b.follow("3 Print")
	b.picture("batch-failed")
	limited := p.start("run", "--plain", "--agent", "limited", "--on-limit", "wait", "orders.md")
	b.follow("Runs")
	b.follow("Old orders")
	b.reads("paused")
	b.picture("run-limit")
	p.do(0, "cancel")
	p.wait(limited)
	b.reads("interrupted")
	b.picture("run-cancelled")
	p.do(0, "discard", "orders.md")
	b.reads("discarded")
	b.picture("run-discarded")
	b.follow("Runs")
	b.picture("runs")
	b.follow("Learning")
	b.picture("learning")
	b.follow("Runs")
	b.do(chromedp.KeyEvent("?"))
	b.until("document.querySelector('#keys').open")
	b.picture("keys")
}
