// Package recent has a two-generation cache of at most 2N entries: when the young generation is full it replaces the
// old one.
package recent

// Map remembers values. It is for one goroutine.
type Map[K comparable, V any] struct {
	most        int
	cost        func(V) int
	now, before map[K]V
	held        int // cost of what now has
}

// New returns a map that holds values of about twice the cost that most says.
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

// Put remembers a value.
func (m *Map[K, V]) Put(key K, v V) {
	if m.held > m.most {
		m.before, m.now, m.held = m.now, map[K]V{}, 0
	}
	m.now[key] = v
	m.held += m.cost(v)
}

// Len returns the number of entries. An old entry that was used again counts twice.
func (m *Map[K, V]) Len() int { return len(m.now) + len(m.before) }
