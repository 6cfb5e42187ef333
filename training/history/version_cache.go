package history

import (
	"context"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/knowledge/outline"
)

// versionCache is a bounded cache of file versions. Its versions may be requested concurrently.
type versionCache struct {
	objects *git.Objects
	reader  reader
	mutex   sync.Mutex // guards read and found
	read    *recent.Map[want, *source]
	found   *recent.Map[want, findings] // of ast-grep, kept longer than the text: to parse costs much more than to read
	modules *recent.Map[string, string] // blob of a go.mod → module path
}

// mostHeld limits the text in the younger half of the cache. Derived data needs a few times as much. mostFound limits
// the findings beyond that.
const (
	mostHeld  = 4 << 20
	mostFound = 4 << 20
)

func newVersionCache(o *git.Objects, r reader) *versionCache {
	return &versionCache{objects: o, reader: r,
		read:    recent.New[want](mostHeld, func(x *source) int { return len(x.text) + 1000 }),
		found:   recent.New[want](mostFound, findings.size),
		modules: recent.New[string](5000, func(string) int { return 1 })}
}

// want identifies a version of a file.
type want struct{ path, blob string }

// versions are files that were requested together.
type versions map[want]*source

// get returns file versions that are not outlined yet. For a version that cannot be used it returns a reason.
func (s *versionCache) get(wants []want) (versions, map[want]Reason, error) {
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
	objects, err := s.objects.Read(names)
	if err != nil {
		return nil, nil, err
	}
	for i, o := range objects {
		w, text := ask[i], string(o.Data)
		delete(have, w)
		why := unfit(text)
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
			x.findings, x.outlined = s.found.Get(w)
			s.read.Put(w, x)
		}
	}
	return have, bad, nil
}

// outlined outlines the sources that need it.
func (s *versionCache) outlined(ctx context.Context, all []*source) error {
	var fresh []*source
	for _, x := range all {
		if !x.outlined {
			x.outlined = true
			fresh = append(fresh, x)
		}
	}
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
}

// module returns the module path that a go.mod declares.
func (s *versionCache) module(blob string) (string, error) {
	return s.modules.Load(blob, func() (string, error) {
		objects, err := s.objects.Read([]string{blob})
		if err != nil {
			return "", err
		}
		if m := moduleLine.FindSubmatch(objects[0].Data); m != nil {
			return string(m[1]), nil
		}
		return "", nil
	})
}
