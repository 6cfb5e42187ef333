package lists

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListsKeepTheirOrder(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	list := []int{3, 1, 2, 3}
	for name, d := range map[string]string{
		"map":        cmp.Diff([]string{"3", "1", "2", "3"}, Map(list, strconv.Itoa)),
		"map none":   cmp.Diff([]string(nil), Map([]int{}, strconv.Itoa)),
		"filter":     cmp.Diff([]int{3, 1, 3}, Filter(list, odd)),
		"filter all": cmp.Diff([]int(nil), Filter([]int{2}, odd)),
		"count":      cmp.Diff(3, Count(list, odd)),
		"sum":        cmp.Diff(9, Sum(list, func(n int) int { return n })),
		"first":      cmp.Diff([]int{3, 0}, []int{First(list, odd), First([]int{2}, odd)}),
		"find":       cmp.Diff([]any{3, true, 0, false}, append(both(Find(list, odd)), both(Find([]int{2}, odd))...)),
		"add":        cmp.Diff([]int{3, 1, 2, 3, 4}, Add(Add(list, 1), 4)),
		"set":        cmp.Diff(map[int]bool{1: true, 2: true, 3: true}, Set(list)),
		"by":         cmp.Diff(map[bool]int{true: 3, false: 2}, By(list, odd)),
		"unique":     cmp.Diff([][]int{{1, 2, 3}, {}, nil}, [][]int{Unique(list), Unique([]int{}), Unique[int](nil)}),
		"median":     cmp.Diff([]float64{2, 2.5}, []float64{Median([]float64{3, 1, 2}), Median([]float64{4, 1, 2, 3})}),
		"index":      cmp.Diff(map[bool]int{true: 3, false: 2}, Index(list, odd)),
		"order":      cmp.Diff([]int{0, 3, 1, 2}, Order(list, func(a, b int) int { return a%3 - b%3 })),
		"counts":     cmp.Diff(map[bool]int{true: 3, false: 1}, Counts(list, odd)),
	} {
		if d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func both(n int, found bool) []any { return []any{n, found} }
