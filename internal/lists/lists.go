// Package lists has functions for slices that package slices lacks: they make a list, a set or a number of a list.
package lists

import (
	"cmp"
	"slices"
)

// Map returns the results of f for each value, in their order. It returns nil for an empty list.
func Map[T, U any](list []T, f func(T) U) []U {
	if len(list) == 0 {
		return nil
	}
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Filter returns the values for which keep is true, in their order. It returns nil if there are none.
func Filter[T any](list []T, keep func(T) bool) []T {
	var out []T
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// Count returns the number of values for which is is true.
func Count[T any](list []T, is func(T) bool) int {
	n := 0
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// Sum adds the numbers that f returns for each value.
func Sum[T any](list []T, f func(T) int) int {
	n := 0
	for _, x := range list {
		n += f(x)
	}
	return n
}

// Set returns the set of the values.
func Set[K comparable](list []K) map[K]bool { return SetBy(list, func(k K) K { return k }) }

// SetBy returns the set of the keys of the values.
func SetBy[T any, K comparable](list []T, key func(T) K) map[K]bool {
	out := make(map[K]bool, len(list))
	for _, x := range list {
		out[key(x)] = true
	}
	return out
}

// By returns the values by their keys. Of values with the same key it has the last one.
func By[T any, K comparable](list []T, key func(T) K) map[K]T {
	out := make(map[K]T, len(list))
	for _, x := range list {
		out[key(x)] = x
	}
	return out
}

// Unique returns the values in sorted order, each once. It returns nil only for nil.
func Unique[T cmp.Ordered](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Median returns the middle value, or the mean of the two middle values. The list must not be empty.
func Median[T ~int64 | ~float64](list []T) T {
	list = slices.Sorted(slices.Values(list))
	if n := len(list); n%2 == 0 {
		return list[n/2-1] + (list[n/2]-list[n/2-1])/2
	}
	return list[len(list)/2]
}

// Index returns the indexes of the values by their keys. Of values with the same key it has the last one.
func Index[T any, K comparable](list []T, key func(T) K) map[K]int {
	out := make(map[K]int, len(list))
	for i, x := range list {
		out[key(x)] = i
	}
	return out
}

// Order returns the indexes of the values in sorted order. Equal values keep their order.
func Order[T any](list []T, compare func(a, b T) int) []int {
	out := make([]int, len(list))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return compare(list[a], list[b]) })
	return out
}

// Counts returns how often each key occurs.
func Counts[T any, K comparable](list []T, key func(T) K) map[K]int {
	out := map[K]int{}
	for _, x := range list {
		out[key(x)]++
	}
	return out
}

// First returns the first value for which is is true, or the zero value.
func First[T any](list []T, is func(T) bool) T {
	x, _ := Find(list, is)
	return x
}

// Find returns the first value for which is is true. It returns false if there is none.
func Find[T any](list []T, is func(T) bool) (x T, found bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return x, false
}

// Add appends a value that the list does not have yet.
func Add[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}
