package history

import (
	"cmp"
	"context"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/knowledge/outline"
)

// versionCache is a bounded cache of file versions. Its versions may be requested concurrently.
type versionCache struct {
	reader reader
	mutex  sync.Mutex // guards the fields below, and which sources are begun
	read   *recent.Map[want, *source]
	found  *recent.Map[want, findings] // of ast-grep, kept longer than the text: parsing is much slower than reading
	failed error                       // error of a step that other goroutines may wait for
}

// mostHeld limits the text in the younger half of the cache. Derived data needs a few times as much. mostFound limits
// the findings beyond that.
const (
	mostHeld  = 4 << 20
	mostFound = 4 << 20
)

func newVersionCache(r reader) *versionCache {
	return &versionCache{reader: r,
		read:  recent.New[want](mostHeld, func(x *source) int { return len(x.text) + 1000 }),
		found: recent.New[want](mostFound, findings.size)}
}

// want identifies a version of a file.
type want struct{ path, blob string }

// versions are files that were requested together.
type versions map[want]*source

// get returns file versions that are not outlined yet. For a version that cannot be used it returns a reason.
func (s *versionCache) get(from *git.Objects, wants []want) (versions, map[want]Reason, error) {
	have, bad := versions{}, map[want]Reason{}
	var ask []want
	var names []string
	s.mutex.Lock()
	for _, w := range wants {
		if _, asked := have[w]; asked {
			continue
		}
		x, known := s.read.Get(w)
		if have[w] = x; !known {
			ask, names = append(ask, w), append(names, w.blob)
		}
	}
	s.mutex.Unlock()
	objects, err := from.Read(names)
	if err != nil {
		return nil, nil, err
	}
	for i, o := range objects {
		w, text := ask[i], string(o.Data)
		delete(have, w)
		why := unfit(w.path, text)
		switch {
		case o.Kind != "blob":
			why = Missing
		case o.Size > mostBytes:
			why = TooLarge
		}
		if why != "" {
			bad[w] = why
			continue
		}
		have[w] = newSource(w.path, w.blob, text)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, w := range ask {
		if x := have[w]; x != nil {
			known := false
			if x.findings, known = s.found.Get(w); known {
				x.outlined = ended
			}
			s.read.Put(w, x)
		}
	}
	return have, bad, nil
}

// ended is the channel of work that has ended.
var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// search searches the sources for secrets.
func (s *versionCache) search(ctx context.Context, with sentry, all []*source) error {
	return s.once(all, func(x *source) *chan struct{} { return &x.searched }, func(fresh []*source) error {
		return with.sources(ctx, fresh)
	})
}

// outline outlines the sources.
func (s *versionCache) outline(ctx context.Context, all []*source) error {
	return s.once(all, func(x *source) *chan struct{} { return &x.outlined }, func(fresh []*source) error {
		if err := s.reader.outline(ctx, fresh); err != nil {
			return err
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for _, x := range fresh {
			if x.language != outline.Go { // whose outlines refer to the text, and are cheap
				s.found.Put(want{x.path, x.blob}, x.findings)
			}
		}
		return nil
	})
}

// once does work for the sources for which it has not begun, and waits where another step of the pipeline has begun it.
// of returns the channel of a source that is closed when its work has ended; nil means that it has not begun.
func (s *versionCache) once(all []*source, of func(*source) *chan struct{}, work func([]*source) error) error {
	var fresh []*source
	var begun []chan struct{}
	done := make(chan struct{})
	s.mutex.Lock()
	for _, x := range all {
		switch c := of(x); *c {
		case nil:
			*c = done
			fresh = append(fresh, x)
		case done: // it is in the list twice
		default:
			begun = append(begun, *c)
		}
	}
	s.mutex.Unlock()
	err := work(fresh)
	s.mutex.Lock()
	s.failed = cmp.Or(s.failed, err)
	s.mutex.Unlock()
	close(done)
	for _, c := range begun {
		<-c
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.failed
}
