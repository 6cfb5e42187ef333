//go:build unix

package testscripts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/runplan/runplan/tools/tinymodel"
)

// ollamaProgram returns the path of the real server that make ollama builds. Without it a test is skipped with
// instructions; with RUNPLAN_TEST_ALL=1 the test fails, unless this machine is known to be unable to build it.
func ollamaProgram(t *testing.T) string {
	t.Helper()
	// so that go test does not use its cache after the program changed
	_, _ = os.Stat(filepath.Join("..", "bin", "tools", "ollama"))
	var why bytes.Buffer
	cmd := exec.Command("bash", filepath.Join("ollama", "build.sh"), "-where")
	cmd.Stderr = &why
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	reason := strings.TrimSpace(why.String())
	if reason == "" {
		reason = err.Error()
	}
	var exit *exec.ExitError
	impossible := errors.As(err, &exit) && exit.ExitCode() == 3
	if os.Getenv("RUNPLAN_TEST_ALL") == "1" && !impossible {
		t.Fatalf("the real Ollama server: %s", reason)
	}
	t.Skipf("NOT TESTED against the real Ollama server: %s", reason)
	return ""
}

// ollamaServer is a real server with its own home, models and port.
type ollamaServer struct {
	url   string
	cmd   *exec.Cmd
	alive io.Closer // closed, it ends
	ended chan struct{}
	log   string
	// The server fails if two models are created at once: both write the parameters of their template to the same
	// file, and the first removes it before the second reads it.
	creating sync.Mutex
}

// A shell runs the server and ends it when its standard input closes, which also happens if this test is killed. A
// killed server would leave its runner processes, so the shell asks it to end.
const holdServer = `"$0" serve </dev/null & server=$!; cat >/dev/null; kill "$server"; wait "$server"`

// startOllama starts program and waits until it answers. It keeps all files under dir.
func startOllama(program, dir string) (*ollamaServer, error) {
	s := &ollamaServer{log: filepath.Join(dir, "serve.log"), ended: make(chan struct{})}
	for _, d := range []string{"home", "models", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command("bash", "-c", holdServer, program)
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"OLLAMA_HOST=127.0.0.1:0", "OLLAMA_MODELS=" + filepath.Join(dir, "models"), "OLLAMA_NO_CLOUD=1",
		"OLLAMA_KEEP_ALIVE=30m", "OLLAMA_MAX_LOADED_MODELS=6", "OLLAMA_NUM_PARALLEL=1",
	}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.alive, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait() // it ends by a signal, always
		close(s.ended)
	}()
	if err := s.waitUntilReady(); err != nil {
		s.kill()
		text, _ := os.ReadFile(s.log)
		return nil, fmt.Errorf("start %s: %w\n%s", program, err, text)
	}
	return s, nil
}

// listening matches the log line that names the port.
var listening = regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+) `)

func (s *ollamaServer) waitUntilReady() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case <-s.ended:
			return errors.New("it ended")
		default:
		}
		text, err := os.ReadFile(s.log)
		if err != nil {
			return err
		}
		at := listening.FindSubmatch(text)
		if at == nil {
			continue
		}
		s.url = "http://" + string(at[1])
		if answer, err := http.Get(s.url + "/api/version"); err == nil {
			return answer.Body.Close()
		}
	}
	return fmt.Errorf("not ready within %s", patience)
}

// stop ends the server as its user would, and reports processes that it left.
func (s *ollamaServer) stop() error {
	s.alive.Close()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.kill()
		return fmt.Errorf("the server did not end within %s", patience)
	}
	for end := time.Now().Add(3 * time.Second); s.processes(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.kill()
			return errors.New("the server ended, and left processes")
		}
	}
	return nil
}

// kill ends the server and its runners at once.
func (s *ollamaServer) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	s.alive.Close()
	<-s.ended
}

// processes reports whether any process of the server's group is running.
func (s *ollamaServer) processes() bool {
	return syscall.Kill(-s.cmd.Process.Pid, 0) == nil
}

func (s *ollamaServer) client() (*api.Client, error) {
	at, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	return api.NewClient(at, &http.Client{}), nil
}

// create creates a model on the server: it uploads the GGUF file as a blob and pulls nothing.
func (s *ollamaServer) create(ctx context.Context, name string, m tinymodel.Model) error {
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file.Bytes()))
	s.creating.Lock()
	defer s.creating.Unlock()
	if err := client.CreateBlob(ctx, digest, &file); err != nil {
		return fmt.Errorf("create model %s: %w", name, err)
	}
	// One thread: on a busy machine two threads wait for each other for seconds.
	made := &api.CreateRequest{Model: name, Files: map[string]string{"tiny.gguf": digest},
		Parameters: map[string]any{"num_thread": 1}}
	if err := client.Create(ctx, made, func(api.ProgressResponse) error { return nil }); err != nil {
		return fmt.Errorf("create model %s: %w", name, err)
	}
	return nil
}
