package condition

import (
	"math"
	"math/bits"
)

// Add returns a+b, or the largest int or its negative if the sum overflows. The limits are symmetric, so every number
// can be negated.
func Add(a, b int) int {
	switch {
	case b > 0 && a > math.MaxInt-b:
		return math.MaxInt
	case b < 0 && a < -math.MaxInt-b:
		return -math.MaxInt
	}
	return a + b
}

// Mul returns a*b, bounded like [Add].
func Mul(a, b int) int {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	n := math.MaxInt
	if hi == 0 && lo < math.MaxInt {
		n = int(lo)
	}
	if (a < 0) != (b < 0) {
		return -n
	}
	return n
}

func magnitude(n int) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// FloorDiv returns a/b rounded down. It panics where b is 0, as / does.
func FloorDiv(a, b int) int {
	a, b = max(a, -math.MaxInt), max(b, -math.MaxInt)
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
