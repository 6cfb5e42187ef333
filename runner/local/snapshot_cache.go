package local

import (
	"context"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/git"
)

// freshLook limits how long a snapshot is valid. An agent that begins when another one ends reuses that one's snapshot.
const freshLook = 100 * time.Millisecond

// snapshotCache caches the last snapshot.
type snapshotCache struct {
	mu      sync.Mutex
	last    outside
	began   time.Time // time of the snapshot; zero for none
	dropped time.Time
}

// recent returns a snapshot that is still valid.
func (l *snapshotCache) recent() (outside, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, !l.began.IsZero() && time.Since(l.began) < freshLook
}

// keep stores a snapshot that began at that time, unless drop was called since.
func (l *snapshotCache) keep(o outside, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began.After(l.dropped) {
		l.last, l.began = o, began
	}
}

// drop invalidates the last snapshot, because gates, hooks or the run itself may have changed files or branches
// since. No agent is blamed for such changes.
func (l *snapshotCache) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped, l.began = time.Now(), time.Time{}
}

// mend changes a branch outside of the run, to undo an agent's change.
func (w *work) mend(ctx context.Context, u git.RefUpdate) error {
	defer w.snapshots.drop() // an earlier snapshot may contain the agent's change
	return w.Repo.UpdateRefs(ctx, u)
}

// around is [work.lookOutside] before an agent begins, except for actions of the user's own plan.
func (w *work) around(ctx context.Context) (outside, error) {
	if literal(w.Agent) {
		return outside{}, nil
	}
	if o, ok := w.snapshots.recent(); ok {
		return o, nil
	}
	return w.lookOutside(ctx)
}

// looking takes a snapshot in parallel, after an agent has ended. The returned function waits for it.
func (w *work) looking(ctx context.Context) (seen func() (outside, error)) {
	if literal(w.Agent) {
		return func() (outside, error) { return outside{}, nil }
	}
	began := time.Now()
	seen = sync.OnceValues(func() (outside, error) {
		o, err := w.lookOutside(ctx)
		if err == nil {
			w.snapshots.keep(o, began)
		}
		return o, err
	})
	go seen()
	return seen
}
