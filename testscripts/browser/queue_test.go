package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const ordersBlueprint = `unit: orders
intent: {purpose: takes orders, cognitive_role: the counter}
interfaces: []
dependencies: {services: []}
failure_modes: []
source_files: [{path: orders/orders.go, role: core}]
meta: {confidence: {contract: 1}}
`

const ordersAnswer = `{"service_id": "orders", "reviewer": "human", "review_timestamp": "2026-01-31T12:00:00Z", "overall_fidelity_score": 1,
 "discrepancies": [
 {"dimension": "intent", "severity": "critical", "blueprint_claim": "Takes orders, and tells the customer when they will come.", "code_evidence": "Nothing in orders.go tells a day.", "recommendation": "Promise a day, or take the promise out.", "affected_file": "orders/orders.go"},
 {"dimension": "failure_modes", "severity": "critical", "blueprint_claim": "A card that is refused leaves the order open.", "code_evidence": "The order is closed before the card is asked.", "recommendation": "Ask first."}],
 "open_question_updates": [], "promotion_recommendation": "reject", "summary_note": "No. Really."}`

// queue fills the review queue with two items, in a project that has the unit orders and its blueprint.
func (p *project) queue() {
	p.t.Helper()
	answer := filepath.Join(p.root, "answer.json")
	p.write(answer, ordersAnswer)
	p.do(0, "trust", "--bootstrap", "--owner", "ada", "--channel", "mail")
	p.do(3, "blueprint", "review", "orders", "--by-hand")
	p.do(1, "blueprint", "review", "orders", "--answer", answer, "--reviewer", "human")
}

// BP-31: the owner closes an item on the page with or without a fix, and the command line then lists it as closed;
// another person's signature closes nothing.
func TestOnlyOwnerClosesQueueItems(t *testing.T) {
	p := newProject(t, "", "",
		map[string]string{"orders/orders.go": "package orders\n",
			"knowledge/blueprints/candidates/orders.yaml": ordersBlueprint})
	chromium(t)
	p.queue()
	b := open(t, p.serve("127.0.0.1:0").url)
	b.follow("Needs you")
	for _, text := range []string{"Nothing in orders.go tells a day.", "Promise a day, or take the promise out.",
		"orders/orders.go", "intent", "critical"} {
		b.reads(text)
	}
	sign := func(item, name, button string) {
		b.do(
			chromedp.SetValue(item+` input[name="signature"]`, name, chromedp.ByQuery),
			chromedp.SetValue(item+` input[name="reason"]`, "seen", chromedp.ByQuery),
		)
		b.press(item, button)
	}
	b.calm = func(text string) bool { return strings.Contains(text, "422") } // the browser counts a refusal as trouble
	sign("#waiting section:nth-of-type(1)", "eve", "without a fix")
	b.reads("Nothing was changed.")
	if got := p.do(0, "blueprint", "queue"); strings.Count(got, "  open\n") != 2 {
		t.Fatalf("somebody else's signature closed an item:\n%s", got)
	}
	sign("#waiting section:nth-of-type(1)", "ada", "without a fix")
	b.reads("acknowledged")
	b.until(`document.querySelectorAll("#waiting section").length === 1`)
	sign("#waiting section:nth-of-type(1)", "ada", "it was fixed")
	b.reads("Closed with a fix")
	b.reads("Nothing waits for you.")
	got := p.do(0, "blueprint", "queue", "--all")
	if !strings.Contains(got, "acknowledged") || !strings.Contains(got, "fixed") ||
		!strings.Contains(got, "by ada: seen") {
		t.Errorf("the queue says:\n%s", got)
	}
	if got := p.do(0, "trust", "audit"); !strings.Contains(got, "orders") {
		t.Errorf("the audit has no word of it:\n%s", got)
	}
}
