package proc

import "testing"

// BenchmarkRunKept is [BenchmarkRun] under a keeper.
func BenchmarkRunKept(b *testing.B) {
	r, err := testReaper()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		if _, err := Run(b.Context(), Cmd{Args: []string{"true"}, Sweep: NewTag(), Reaper: r}); err != nil {
			b.Fatal(err)
		}
	}
}
