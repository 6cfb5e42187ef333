package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                {"", ""},
		"without a last line":    {"a\nb", "a\nb"},
		"empty lines at the end": {"a\n\n\n", "a"},
		"the end of many":        {strings.Repeat("x\n", 100) + "last\n", strings.Repeat("x\n", tailEnd-1) + "last"},
		"from the panic on": {"noise\npanic: why\n\ngoroutine 1:\n" + strings.Repeat("x\n", 100),
			"panic: why\n\ngoroutine 1:\n" + strings.Repeat("x\n", tailEnd-4) + "x"},
		"control codes": {"\x1b[31mred\x1b[0m\r\n", "red"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chunk := range []int{1, 7, 1 << 20} {
				log := &capture{}
				for in := c.in; in != ""; {
					n := min(chunk, len(in))
					_, _ = log.Write([]byte(in[:n]))
					in = in[n:]
				}
				if got := log.excerpt(); got != c.want {
					t.Errorf("in pieces of %d: %q, want %q", chunk, got, c.want)
				}
			}
		})
	}
}

// A flood of output uses a limited amount of memory and disk.
func TestOutputFloodIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log := &capture{whole: logFile{path: path}}
	chunk := []byte(strings.Repeat("x", 1<<20))
	for range 70 {
		_, _ = log.Write(chunk)
	}
	log.close()
	if fi, err := os.Stat(path); err != nil || fi.Size() > maxLog+1<<10 {
		t.Errorf("%v, %v", fi, err)
	}
	if log.size > keepLog+maxLine || len(log.excerpt()) > maxTail {
		t.Errorf("%d bytes are kept, %d shown", log.size, len(log.excerpt()))
	}
}

func TestUnwritableLogIsError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &capture{}
	log.open(filepath.Join(file, "log"), nil)
	_, _ = log.Write([]byte("a\n"))
	if _, _, err := log.done(); err == nil || !strings.Contains(err.Error(), "write the log of the plugin") {
		t.Errorf("it says %v", err)
	}
}
