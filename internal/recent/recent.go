// Package recent keeps the values that were used last, up to a size, so that expensive results are computed once. It
// has two maps. When the new map is full, it replaces the old map, so values that were not used since then are dropped.
// The cache needs no list of uses, and has at most about twice the size.
package recent

import "sync"

// Map caches values. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	most        int
	cost        func(V) int
	now, before map[K]V
	held        int // cost of the entries in now
}

// New returns a map for values with a total cost of about twice most.
func New[K comparable, V any](most int, cost func(V) int) *Map[K, V] {
	return &Map[K, V]{most: most, cost: cost, now: map[K]V{}}
}

// Get returns the value of a key and marks it as recently used.
func (m *Map[K, V]) Get(key K) (V, bool) {
	v, ok := m.now[key]
	if !ok {
		if v, ok = m.before[key]; ok {
			m.Put(key, v)
		}
	}
	return v, ok
}

// Put stores a value.
func (m *Map[K, V]) Put(key K, v V) {
	if m.held > m.most {
		m.before, m.now, m.held = m.now, map[K]V{}, 0
	}
	m.now[key] = v
	m.held += m.cost(v)
}

// Load returns the value of a key. It makes and stores a missing one, unless that fails.
func (m *Map[K, V]) Load(key K, make func() (V, error)) (V, error) {
	if v, ok := m.Get(key); ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		m.Put(key, v)
	}
	return v, err
}

// Shared is a [Map] that is safe for concurrent use.
type Shared[K comparable, V any] struct {
	mu   sync.Mutex
	kept *Map[K, V]
}

// NewShared returns a map as [New] does.
func NewShared[K comparable, V any](most int, cost func(V) int) *Shared[K, V] {
	return &Shared[K, V]{kept: New[K](most, cost)}
}

// Get is [Map.Get].
func (s *Shared[K, V]) Get(key K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Get(key)
}

// Put is [Map.Put].
func (s *Shared[K, V]) Put(key K, v V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Put(key, v)
}

// Len returns the number of entries. An old entry that was used again counts twice.
func (m *Map[K, V]) Len() int { return len(m.now) + len(m.before) }

// Len is [Map.Len].
func (s *Shared[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Len()
}
