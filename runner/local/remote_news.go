package local

import (
	"sync"

	"github.com/runplan/runplan/runner"
)

// news tells a worker whether others have done anything that it has not fetched yet. All that is reported was pushed before,
// so whoever did everything since the last fetch itself has nothing to look for.
type news struct {
	mu     sync.Mutex
	orders map[string]int // command → the event that handed it out last
	own    map[int]bool   // orders that were carried out here
	some   bool
}

// hear takes up an event of the journal.
func (n *news) hear(e runner.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case e.Kind == runner.Dispatched:
		n.orders[e.Command] = e.Seq
	case e.Kind == runner.RunResumed: // whoever looked at the run branch may have moved it
		n.some = true
	case e.Command != "" && !n.own[n.orders[e.Command]]:
		n.some = true
	}
}

// did takes note of an order that was carried out here: its report is none of others.
func (n *news) did(seq int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.own[seq] = true
}

// take tells whether there is something to fetch, and that the caller does it now.
func (n *news) take() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	some := n.some
	n.some = false
	return some
}

// missed takes back what take said: it could not be fetched.
func (n *news) missed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.some = true
}
