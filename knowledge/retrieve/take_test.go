package retrieve

import (
	"fmt"
	"slices"
	"testing"
)

// Adjacent chunks cost only their text, so more of them fit than of separate chunks.
func TestTakeCountsJoinedChunksOnce(t *testing.T) {
	var apart, joined []Item
	for i := range 20 {
		x := Item{Path: "a.go", Start: 1 + 10*i, Chars: 100, Score: 1}
		apart = append(apart, x)
		x.Joins = i > 0
		joined = append(joined, x)
	}
	a, b := Take(apart, 1000, spread[:]), Take(joined, 1000, spread[:])
	if len(a) != 6 || len(b) != 9 {
		t.Errorf("%d apart, %d joined", len(a), len(b))
	}
}

// Word matches have a reserved share of the room, even if the ranking alone could fill it.
func TestTakeReservesShareForWords(t *testing.T) {
	var items []Item
	for i := range 40 {
		items = append(items, Item{Path: "ranked.go", Start: 1 + 100*i, Chars: 130, Score: 10})
	}
	items = append(items, Item{Path: "words.go", Start: 1, Chars: 130, Score: -10, Words: 1})
	got := Take(items, 2000, spread[:])
	if at := slices.Index(got, len(items)-1); at < 5 {
		t.Errorf("taken: %v", got)
	}
	none := spread
	none[sWords] = 0
	if got := Take(items, 2000, none[:]); slices.Contains(got, len(items)-1) {
		t.Errorf("without a share, taken: %v", got)
	}
}

// The share for words begins with files of a plain search that are still missing, as far as there is room.
func TestTakeBeginsWordsWithMissingFiles(t *testing.T) {
	var items []Item
	for i := range 40 {
		items = append(items, Item{Path: "ranked.go", Start: 1 + 100*i, Chars: 130, Score: 10, Words: 1})
	}
	var plain []int
	for i := range 30 {
		plain = append(plain, len(items))
		items = append(items, Item{Path: fmt.Sprintf("%d.go", i), Start: 1, Chars: 120, Score: -10})
	}
	for files, want := range map[int]int{0: 0, 1: 1, 30: 3} {
		x := newTaking(items, spread[:])
		x.plain = append([]int{0}, plain[:files]...)
		x.more(2000)
		if got := len(x.of) - 1; got != want || x.room < 0 {
			t.Errorf("%d files: %d taken, room %d: %v", files, got, x.room, x.out)
		}
	}
}
