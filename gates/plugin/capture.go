package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

const (
	maxLine = 16 << 10 // a longer line is cut into several
	maxLog  = 64 << 20 // of a log file; a plugin must not fill the disk
	keepLog = 16 << 10 // of the end, in memory
	maxTail = 2 << 10  // the part that an error shows
	tailEnd = 15       // lines of it
)

// capture records the output of a plugin. It keeps the end in memory and writes everything to one file for the plugin's
// life and one for the current call. It buffers complete lines, because a secret can only be redacted as a whole.
type capture struct {
	mu    sync.Mutex
	hide  func(string) string
	part  []byte // the incomplete last line
	tail  []string
	size  int
	whole logFile
	call  logFile
}

// Write implements io.Writer. It never fails, because a full disk must not stop a plugin.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		room := maxLine - len(c.part)
		if end < 0 || end > room {
			take := min(len(p), room)
			c.part = append(c.part, p[:take]...)
			if p = p[take:]; len(c.part) == maxLine {
				c.flush()
			}
			continue
		}
		c.part = append(c.part, p[:end]...)
		p = p[end+1:]
		c.flush()
	}
	return n, nil
}

func (c *capture) flush() {
	text := string(c.part)
	c.part = c.part[:0]
	if c.hide != nil {
		text = c.hide(text)
	}
	text = redact.Clean(strings.TrimSuffix(text, "\r"))
	c.tail = append(c.tail, text)
	c.size += len(text) + 1
	for c.size > keepLog && len(c.tail) > 1 {
		c.size -= len(c.tail[0]) + 1
		c.tail = c.tail[1:]
	}
	c.whole.add(text)
	c.call.add(text)
}

// show quotes output of a plugin for an error.
func (c *capture) show(text string) string {
	c.mu.Lock()
	hide := c.hide
	c.mu.Unlock()
	if hide != nil {
		text = hide(text)
	}
	return strconv.Quote(phrase.Fit(redact.Clean(text), 120))
}

// begin forgets earlier output, which belongs to a process that has ended.
func (c *capture) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part, c.tail, c.size = nil, nil, 0
}

// excerpt returns the end of the output for an error message. In Go the cause of a crash precedes a long list of
// goroutines, so the excerpt begins there if it is found.
func (c *capture) excerpt() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.part) > 0 {
		c.flush()
	}
	lines := c.tail
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	from := max(0, len(lines)-tailEnd)
	for i, l := range lines {
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			from = i
			break
		}
	}
	lines = lines[from:min(len(lines), from+tailEnd)]
	return phrase.Fit(strings.Join(lines, "\n"), maxTail)
}

// open starts the log of a call; "" keeps none. The file is created at the first output.
func (c *capture) open(path string, hide func(string) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.part) > 0 {
		c.flush()
	}
	c.call = logFile{path: path}
	c.tail, c.size = nil, 0 // an error shows the output of its call
	if hide != nil {
		c.hide = hide
	}
}

// done ends the log of a call and returns its file and hash, "" if nothing was printed.
func (c *capture) done() (path, sum string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.part) > 0 {
		c.flush()
	}
	l := c.call
	c.call = logFile{}
	if l.file == nil {
		return "", "", l.err
	}
	l.close()
	return l.path, hex.EncodeToString(l.hash.Sum(nil)), l.err
}

func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.part) > 0 {
		c.flush()
	}
	c.whole.close()
	c.call.close()
}

// logFile is a log file that is created at the first write and has a size limit.
type logFile struct {
	path string
	keep bool // keep existing content
	file *os.File
	hash hash.Hash
	size int64
	err  error
}

func (l *logFile) add(line string) {
	if l.path == "" || l.err != nil || l.size > maxLog {
		return
	}
	if l.file == nil {
		if l.err = l.start(); l.err != nil {
			l.err = fmt.Errorf("write the log of the plugin: %w", l.err)
			return
		}
	}
	line += "\n"
	if l.size += int64(len(line)); l.size > maxLog {
		line = fmt.Sprintf("[the log ends here: it has reached %d MiB]\n", maxLog>>20)
	}
	if _, err := l.file.WriteString(line); err != nil {
		l.err = fmt.Errorf("write the log of the plugin: %w", err)
		return
	}
	_, _ = l.hash.Write([]byte(line))
}

func (l *logFile) start() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	how := os.O_TRUNC
	if l.keep {
		how = os.O_APPEND
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if err != nil {
		return err
	}
	if fi, err := f.Stat(); err == nil {
		l.size = fi.Size()
	}
	l.file, l.hash = f, sha256.New()
	return nil
}

func (l *logFile) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
