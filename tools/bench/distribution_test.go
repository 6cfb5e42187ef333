package main

import (
	"slices"
	"testing"
)

func TestQuantiles(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3, 10, 9, 8, 7, 6}
	least, middle, most9, most := quantiles(values)
	if got, want := []float64{least, middle, most9, most}, []float64{1, 5, 9, 10}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	least, middle, most9, most = quantiles(values[:1])
	if got, want := []float64{least, middle, most9, most}, []float64{5, 5, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("of one value %v, want %v", got, want)
	}
}

func TestHistogramKeepsAllValues(t *testing.T) {
	got := histogram("name", []float64{0.9, 1, 1.02, 1.03, 1.04, 7}, 1, 0.02, 3)
	want := []string{"name", "  1.00 to 1.02    2 ██", "  1.02 to 1.04    2 ██", "  1.04 and more   2 ██"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRowsCountValuesWithinLimit(t *testing.T) {
	got := rows([]distribution{{"a", []float64{1, 1.1, 1.2}, 1.1}, {"none", nil, 1.1}})
	if len(got) != 2 || got[1][len(got[1])-len("2 of 3 within 1.10"):] != "2 of 3 within 1.10" {
		t.Errorf("%q", got)
	}
}
