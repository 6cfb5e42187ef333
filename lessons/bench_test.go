package lessons

import (
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkTree scans the source of Go, once with the lessons for each file's language and once with all lessons on
// all files.
func BenchmarkTree(b *testing.B) {
	//lint:ignore SA1019 the Go of the machine that the benchmark runs on is what is wanted
	src := filepath.Join(runtime.GOROOT(), "src")
	lib := builtInLibrary(b)
	for name, o := range map[string]Options{"languages": {}, "any": {AnyLanguage: true}} {
		b.Run(name, func(b *testing.B) {
			s := scanner(b, lib.Lessons, o)
			files := below(b, src)
			var bytes int64
			for b.Loop() {
				r, err := s.Scan(b.Context(), src, files)
				if err != nil {
					b.Fatal(err)
				}
				bytes += r.Bytes
			}
			b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(BuiltIn()); err != nil {
			b.Fatal(err)
		}
	}
}
