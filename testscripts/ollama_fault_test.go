//go:build unix

package testscripts

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/tools/tinymodel"
)

// If the real server fails in the middle of an answer, llm returns a specific error and no partial answer.
func testFaults(t *testing.T, program string) {
	for name, c := range map[string]struct {
		retries int
		fault   func(t *testing.T, s *ollamaServer, cancel context.CancelFunc)
		check   func(err error) bool
	}{
		"killed": {
			fault: func(_ *testing.T, s *ollamaServer, _ context.CancelFunc) { s.kill() },
			check: func(err error) bool { return errors.Is(err, llm.ErrCutOff) },
		},
		"killed, and asked again": {
			retries: 1,
			fault:   func(_ *testing.T, s *ollamaServer, _ context.CancelFunc) { s.kill() },
			check:   func(err error) bool { var down *llm.DownError; return errors.As(err, &down) },
		},
		"told to end": {
			fault: func(_ *testing.T, s *ollamaServer, _ context.CancelFunc) { s.alive.Close() },
			check: func(err error) bool { return errors.Is(err, llm.ErrCutOff) },
		},
		"runner killed": {
			fault: func(t *testing.T, s *ollamaServer, _ context.CancelFunc) { s.killRunner(t) },
			check: func(err error) bool { var said *llm.ServerError; return errors.As(err, &said) && said.Passing },
		},
		"given up": {
			fault: func(_ *testing.T, _ *ollamaServer, cancel context.CancelFunc) { cancel() },
			check: func(err error) bool { return errors.Is(err, context.Canceled) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := startOllama(program, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.kill)
			if err := s.create(t.Context(), "endless", tinymodel.Model{Endless: true}); err != nil {
				t.Fatal(err)
			}
			at, streaming := watched(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				if <-streaming {
					c.fault(t, s, cancel)
				}
			}()
			m := llm.Model{Name: "endless", Provider: llm.Ollama, BaseURL: at, Window: 32768}
			res, err := llm.New(llm.Options{Timeout: time.Minute, Retries: c.retries}).Complete(ctx,
				llm.Request{Model: m, Prompt: "Talk for ever."})
			if err == nil || res.Text != "" || !c.check(err) {
				t.Errorf("%T %v, and %d bytes", err, err, len(res.Text))
			}
		})
	}
}

// watched returns an address in front of the server. The channel receives true when an answer has begun, and false if
// the test ended first.
func watched(t *testing.T, s *ollamaServer) (at string, streaming <-chan bool) {
	t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "wire.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	log := &wireLog{file: file}
	front := httptest.NewServer(log.front(to))
	t.Cleanup(func() { front.CloseClientConnections(); front.Close(); file.Close() })
	begun := make(chan bool, 1)
	go func() {
		for t.Context().Err() == nil {
			if text, _ := os.ReadFile(file.Name()); bytes.Contains(text, []byte(`"streaming"`)) {
				begun <- true
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		begun <- false
	}()
	return front.URL, begun
}

// killRunner kills the process that runs the model, which is a child of the server.
func (s *ollamaServer) killRunner(t *testing.T) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if !strings.Contains(string(line), "\x00runner\x00") {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == s.cmd.Process.Pid {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
	t.Error("no runner was found")
}

// A server that is stopped also stops its runners.
func testStop(t *testing.T, program string) {
	s, err := startOllama(program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	if err := s.create(t.Context(), "loaded", tinymodel.Model{}); err != nil {
		t.Fatal(err)
	}
	s.ask(t, "loaded", "Talk.", nil, 0)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.url + "/api/version"); err == nil {
		t.Error("the server still answers after it was stopped")
	}
}
