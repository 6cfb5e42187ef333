package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// temporal measures the overhead of an empty batch, on this machine and on a Temporal server with its database in a
// file. The measurement is a test of the module with the server. Its floor is the same number of empty activities,
// one after the other, on the same server.
func (b *bench) temporal() error {
	// The test leaves the server there. Building it takes minutes, too long for a quick run.
	if _, err := os.Stat(filepath.Join("bin", "temporal", "devserver")); err != nil && b.quick {
		b.notes = append(b.notes,
			"no figure for several machines: the Temporal server is not built yet, which make test-temporal and make "+
				"bench-temporal do")
		return nil
	}
	file := filepath.Join(b.place.Dir, "temporal.json")
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout=60m", "-run=^TestOverhead$", ".", "-noops="+
		strconv.Itoa(b.of(200, 10)), "-figures="+file)
	cmd.Dir = filepath.Join("temporal", "servertest")
	// with the flags of make test-temporal, to avoid a rebuild
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var o struct {
		Batches                            int
		Local, Temporal, Floor, Activities float64
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	millis := func(v float64) string { return ms(v * 1e6) }
	b.figures = append(b.figures,
		figure{what: fmt.Sprintf("one of %d empty batches, here", o.Batches), value: millis(o.Local)},
		figure{
			fmt.Sprintf("… on Temporal (%.1f empty activities)", o.Activities/float64(o.Batches)), millis(o.Temporal),
			millis(o.Floor),
			fmt.Sprintf("%.2f", o.Temporal/o.Floor), "≤ 500 ms", o.Temporal <= 500,
		})
	return nil
}
