package planparse

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/text"
)

// benchInputs returns all plans of the corpus one by one, one large file that joins the run-plans, and a plan with a
// thousand small batches.
func benchInputs(b *testing.B) map[string][][]byte {
	b.Helper()
	in := map[string][][]byte{}
	var joined bytes.Buffer
	for _, f := range corpus(b) {
		src, err := os.ReadFile(filepath.Join(corpusDir(), f.path))
		if err != nil {
			b.Fatal(err)
		}
		in["corpus"] = append(in["corpus"], src)
		if f.format == "F1" {
			joined.Write(src)
			joined.WriteString("\n\n")
		}
	}
	in["large"] = [][]byte{joined.Bytes()}
	in["thousand"] = [][]byte{[]byte(thousandBatches())}
	return in
}

func thousandBatches() string {
	var s bytes.Buffer
	s.WriteString("# A big plan\n\n**Goal:** see how it scales.\n\n")
	for i := 1; i <= 1000; i++ {
		fmt.Fprintf(&s,
			"## Batch %d: Part %d\n\ndepends_on: %d\n\n### Task %d: Write it\n\n**Files:**\n- Create: `src/p%d.go`\n"+
				"- Test: `src/p%d_test.go`\n\n- [ ] **Step 1: Write the test**\n\n```go\nfunc TestP%d(t *testing.T) {}\n```\n\n"+
				"- [ ] **Step 2: Run it**\n\nRun: `go test ./src`\nExpected: FAIL\n\n", i, i, max(1, i-1), i, i, i, i)
	}
	return string(bytes.Replace(s.Bytes(), []byte("depends_on: 1\n\n### Task 1:"), []byte("### Task 1:"), 1))
}

func benchmark(b *testing.B, parse func([]byte)) {
	for _, name := range []string{"corpus", "large", "thousand"} {
		inputs := benchInputs(b)[name]
		b.Run(name, func(b *testing.B) {
			size := 0
			for _, src := range inputs {
				size += len(src)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, src := range inputs {
					parse(src)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	benchmark(b, func(src []byte) {
		if _, err := Parse("plan.md", src); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkGoldmarkFloor parses the same bytes with plain goldmark. Parse should take less than 1.3 times as long.
func BenchmarkGoldmarkFloor(b *testing.B) {
	md := goldmark.New()
	benchmark(b, func(src []byte) { md.Parser().Parse(text.NewReader(src)) })
}
