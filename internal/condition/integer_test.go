package condition

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestIntegers(t *testing.T) {
	f := facts{Name: "lint", Count: 7}
	for text, want := range map[string]int{
		`count / 2`:                          3,
		`-count / 2`:                         -4,
		`(0 - count) / 2`:                    -4,
		`count / (0 - 2)`:                    -4,
		`10000 / (count + 1) - 3 * count`:    1229,
		`count / 2 * 2`:                      6,
		`count / 2.0`:                        3, // 3.5, rounded down in the end
		`0.5 * count - 4`:                    -1,
		`count > 5 ? 1 : 2`:                  1,
		`name == "lint" ? 10 * count : 0`:    70,
		`len(name)`:                          4,
		`9223372036854775807 + count`:        math.MaxInt,
		`9223372036854775807 * count`:        math.MaxInt,
		`0 - 9223372036854775807 * count`:    -math.MaxInt,
		`-(9223372036854775807 * -count)`:    math.MaxInt,
		`1e300 * count`:                      math.MaxInt,
		`max(count, 9) + min(count, 1) / -2`: 8,
	} {
		c, err := ParseInteger[facts](text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Value(f); err != nil || got != want || c.String() != text {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestIntegerErrorsShowColumn(t *testing.T) {
	for text, want := range map[string]string{
		`count + cuont`: "unknown name cuont (1:9)",
		`count >`:       "(1:",
		`name`:          "expected a number (1:1)",
		`count > 1`:     "is a bool, expected a number",
		`count + name`:  "mismatched types",
		``:              "unexpected token EOF",
	} {
		if _, err := ParseInteger[facts](text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// An expression without a value, such as a division by zero, is an error and not 0.
func TestIntegerWithoutValueFails(t *testing.T) {
	for _, text := range []string{`1 / count`, `1.5 / count`, `1 % count`} {
		c, err := ParseInteger[facts](text)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := c.Value(facts{}); err == nil {
			t.Errorf("%s is %d", text, v)
		}
	}
}

// Bounded operations give the results of unbounded numbers, limited to the bounds.
func TestBoundedArithmetic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() int {
		edges := []int{0, 1, -1, 2, math.MaxInt, -math.MaxInt, math.MinInt, math.MaxInt / 2, 1 << 31, -1 << 32}
		if rng.IntN(2) == 0 {
			return edges[rng.IntN(len(edges))]
		}
		return int(rng.Uint64()) >> rng.IntN(64)
	}
	cut := func(n *big.Int) int {
		if n.CmpAbs(big.NewInt(math.MaxInt)) > 0 {
			return n.Sign() * math.MaxInt
		}
		return int(n.Int64())
	}
	for range 20000 {
		a, b := pick(), pick()
		x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
		if got, want := Add(a, b), cut(new(big.Int).Add(x, y)); got != want && !(a == math.MinInt || b == math.MinInt) {
			t.Fatalf("%d + %d is %d, want %d", a, b, got, want)
		}
		if got, want := Mul(a, b), cut(new(big.Int).Mul(x, y)); got != want {
			t.Fatalf("%d * %d is %d, want %d", a, b, got, want)
		}
		if b == 0 || a == math.MinInt || b == math.MinInt {
			continue
		}
		q, m := new(big.Int).DivMod(x, y, new(big.Int)) // Euclidean: rounds up for a negative divisor
		if y.Sign() < 0 && m.Sign() != 0 {
			q.Sub(q, big.NewInt(1))
		}
		if got := FloorDiv(a, b); got != cut(q) {
			t.Fatalf("%d / %d is %d, want %d", a, b, got, cut(q))
		}
	}
}
