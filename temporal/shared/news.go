package shared

import (
	"sync"

	"github.com/runplan/runplan/runner"
)

// news tracks whether other workers have pushed results that this worker has not fetched. Each reported result was
// pushed before. So a worker that performed all reported orders since its last fetch need not fetch.
type news struct {
	mu     sync.Mutex
	orders map[string]int // command → the event that handed it out last
	own    map[int]bool   // orders that were carried out here
	some   bool
}

// hear applies an event of the journal.
func (n *news) hear(e runner.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case e.Kind == runner.Dispatched:
		n.orders[e.Command] = e.Seq
	case e.Kind == runner.RunResumed: // a check of the run branch may have moved it
		n.some = true
	case e.Command != "" && !n.own[n.orders[e.Command]]:
		n.some = true
	}
}

// did takes note of an order that was carried out here: other machines have no report of it.
func (n *news) did(seq int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.own[seq] = true
}

// take reports whether there is something to fetch, and marks it as fetched.
func (n *news) take() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	some := n.some
	n.some = false
	return some
}

// missed reverts take after a failed fetch.
func (n *news) missed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.some = true
}
