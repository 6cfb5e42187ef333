package lists

import (
	"iter"
	"sync"
)

// Ahead runs a sequence in its own goroutine, up to n values ahead. The caller must call stop, which ends the
// goroutine and waits for it.
func Ahead[T any](seq iter.Seq2[T, error], n int) (result iter.Seq2[T, error], stop func()) {
	type value struct {
		v   T
		err error
	}
	values, quit := make(chan value, n), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(values)
		for v, err := range seq {
			select {
			case values <- value{v, err}:
			case <-quit:
				return
			}
		}
	})
	result = func(yield func(T, error) bool) {
		for x := range values {
			if !yield(x.v, x.err) {
				return
			}
		}
	}
	return result, func() {
		close(quit)
		group.Wait()
	}
}
