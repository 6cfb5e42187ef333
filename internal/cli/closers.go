package cli

import "slices"

// Closers are the ends of what was opened, in the order of opening.
type Closers []func()

// Add adds the end of what was opened last.
func (c *Closers) Add(end func()) { *c = append(*c, end) }

// Close ends all, the last one first.
func (c *Closers) Close() {
	for _, end := range slices.Backward(*c) {
		end()
	}
}

// CloseAfter ends all if there is an error. It is for defer.
func (c *Closers) CloseAfter(err *error) {
	if *err != nil {
		c.Close()
	}
}
