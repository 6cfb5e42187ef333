//go:build unix

package proc

import (
	"testing"
	"time"

	"github.com/runplan/runplan/tools/tooltest"
)

// slowReader counts bytes and delays the first write.
type slowReader struct{ n int }

func (s *slowReader) Write(b []byte) (int, error) {
	if s.n == 0 {
		time.Sleep(drainTotal + 200*time.Millisecond)
	}
	s.n += len(b)
	return len(b), nil
}

// A slow reader gets the whole output, even if the program has already ended.
func TestSlowReaderGetsAllOutput(t *testing.T) {
	tooltest.Slow(t)
	const size = 60_000 // a pipe holds it, so the program ends before the reader is done
	var out slowReader
	res, err := Run(t.Context(),
		Cmd{Args: []string{"head", "-c", "60000", "/dev/zero"}, Dir: t.TempDir(), Stdout: &out, Keep: 10})
	if err != nil || !res.OK() {
		t.Fatalf("%+v, %v", res, err)
	}
	if out.n != size {
		t.Errorf("%d of %d bytes", out.n, size)
	}
}
