package condition

import (
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	f := struct {
		Z float64 `expr:"z"`
		G int     `expr:"g"`
	}{0.25, 7}
	for text, want := range map[string]float64{
		"50 * z": 12.5, "g": 7, "min(g - 1, 3)": 3, "round(z * 10)": 3, "max(0, min(100, -5))": 0, "g / 2": 3.5,
	} {
		n, err := ParseNumber[struct {
			Z float64 `expr:"z"`
			G int     `expr:"g"`
		}](text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := n.Value(f); err != nil || got != want {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
}

func TestNumberErrors(t *testing.T) {
	for text, want := range map[string]string{
		"50 * zz": "unknown name zz (1:6)", `name`: "gives text, but must give a number", "": "unexpected token EOF",
		"count == 2": "gives yes or no, but must give a number",
	} {
		if _, err := ParseNumber[facts](text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"1 / (count - count)", "0 / (count - count)"} {
		n, err := ParseNumber[facts](text)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := n.Value(facts{Count: 2}); err == nil || !strings.Contains(err.Error(), "division by zero") {
			t.Errorf("%s is %v (%v)", text, v, err)
		}
	}
}
