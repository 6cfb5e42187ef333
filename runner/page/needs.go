package page

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/web"
)

// needs caches the number of items that wait for a person, which all pages show. They are in several files, so
// they are not counted each time.
type needs struct {
	mu     sync.Mutex
	looked time.Time
	count  int
}

// waits counts the items that wait for a person. It omits unreadable items; their page gives the reason.
func (s *site) waits(ctx context.Context) int {
	n := &s.needs
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := s.Now(); now.Sub(n.looked) >= waitingEvery {
		n.looked, n.count = now, 0
		if w, err := s.Options.Waiting(ctx); err == nil {
			n.count = w.count()
		}
		if list, _, err := s.hub.runs(ctx); err == nil {
			for _, l := range list {
				n.count += l.Asks
			}
		}
	}
	return n.count
}

// needsPart is the count in the header of a page.
func (s *site) needsPart(ctx context.Context) (web.Part, error) {
	k := sketch{site: s}
	k.add("needs", "needs", "", s.waits(ctx))
	if k.err != nil {
		return web.Part{}, k.err
	}
	return k.parts[0], nil
}

// stream sends the changed parts of a page, including its header.
func (s *site) stream(w http.ResponseWriter, r *http.Request, looking web.Looking) {
	s.streams.Serve(w, r, func(ctx context.Context, last string) (web.Look, error) {
		count := strconv.Itoa(s.waits(ctx))
		was, of, _ := strings.Cut(last, " ")
		if was != count {
			of = "" // all parts are requested
		}
		look, err := looking(ctx, of)
		if err != nil {
			return look, err
		}
		if look.Stamp = count + " " + look.Stamp; look.Stamp == last {
			return look, nil
		}
		part, err := s.needsPart(ctx)
		look.Parts = append(look.Parts, part)
		return look, err
	})
}

// stale makes the next request count the waiting items again.
func (s *site) stale() {
	s.needs.mu.Lock()
	s.needs.looked = time.Time{}
	s.needs.mu.Unlock()
	s.hub.stale()
}
