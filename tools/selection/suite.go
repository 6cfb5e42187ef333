package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
)

// outcomes has the result of each test: "" for one that passed, else how it failed, without what differs each time.
type outcomes map[string]string

// tree is a checkout of a commit whose files are replaced for a while.
type tree struct {
	dir, at string
	put     map[string]bool // files that differ from the commit
}

// checkOut makes the tree a clean checkout of a commit.
func (t *tree) checkOut(ctx context.Context, commit string) error {
	if _, err := git(ctx, t.dir, "checkout", "-q", "--force", "--detach", commit); err != nil {
		return err
	}
	_, err := git(ctx, t.dir, "clean", "-ffdxq")
	t.at, t.put = commit, map[string]bool{}
	return err
}

// lay puts files over the commit, and removes those of the last call.
func (t *tree) lay(ctx context.Context, files map[string]string) error {
	var back []string
	for p := range t.put {
		if _, again := files[p]; again {
			continue
		}
		delete(t.put, p)
		if _, err := git(ctx, t.dir, "cat-file", "-e", t.at+":"+p); err == nil {
			back = append(back, p)
		} else if err := os.Remove(filepath.Join(t.dir, filepath.FromSlash(p))); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(back) > 0 {
		if _, err := git(ctx, t.dir, append([]string{"checkout", "-q", "--force", t.at, "--"}, back...)...); err != nil {
			return err
		}
	}
	for p, text := range files {
		at := filepath.Join(t.dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		t.put[p] = true
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// result records one run of the tests. It is kept on disk.
type result struct {
	Built bool     `json:"built"`
	Took  float64  `json:"took"` // seconds that the tests themselves took
	Tests outcomes `json:"tests"`
}

// bench runs tests and remembers the results.
type bench struct {
	o    options
	home string
	kept string // folder of results

	caches []string // Go's own folders, because HOME differs
}

// form is the version of the results on disk.
const form = "3"

// errNotKept reports that a result is not on disk although no test may run.
var errNotKept = errors.New("its result is not kept")

// run runs the tests of a fix on a checkout with the files laid over it.
func (b *bench) run(ctx context.Context, f fix, t *tree, files map[string]string) (result, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%s\n%q\n", form, f.repo, f.parent, f.rest)
	for _, p := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%q %d\n%s", p, len(files[p]), files[p])
	}
	at := filepath.Join(b.kept, hex.EncodeToString(sum.Sum(nil))[:32]+".json")
	var r result
	if text, err := os.ReadFile(at); err == nil && json.Unmarshal(text, &r) == nil {
		return r, nil
	}
	if b.o.kept {
		return r, errNotKept
	}
	if t.at != f.parent {
		if err := t.checkOut(ctx, f.parent); err != nil {
			return r, err
		}
	}
	if err := t.lay(ctx, files); err != nil {
		return r, err
	}
	var err error
	if gates.LanguageOf(f.code[0]) == gates.LangGo {
		r, err = b.golang(ctx, f, t)
	} else {
		r, err = b.python(ctx, f, t)
	}
	if err != nil || ctx.Err() != nil {
		return r, errors.Join(err, ctx.Err())
	}
	text, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	return r, os.WriteFile(at, text, 0o644)
}

// longest is the time limit of one run of tests.
const longest = 2 * time.Minute

func (b *bench) command(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "HOME="+b.home, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOWORK=off",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(dir, "src")+":"+dir, "NO_COLOR=1")
	cmd.Env = append(cmd.Env, b.caches...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return "", err
	}
	return out.String(), nil
}

// golang runs the tests of the packages that the fix changes.
func (b *bench) golang(ctx context.Context, f fix, t *tree) (result, error) {
	root := path.Dir(f.code[0])
	for root != "." && !isFile(filepath.Join(t.dir, root, "go.mod")) {
		root = path.Dir(root)
	}
	if !isFile(filepath.Join(t.dir, root, "go.mod")) {
		return result{}, nil
	}
	// Build without optimisation and debug data, because each version is compiled and linked for one run.
	args := []string{"go", "test", "-json", "-count=1", "-vet=off", "-ldflags=-s -w", "-gcflags=-N -l -dwarf=false",
		"-timeout", "40s"}
	for _, p := range packages(f) {
		if root == "." || strings.HasPrefix(p, root) {
			args = append(args, "./"+strings.TrimPrefix(strings.TrimPrefix(p, root), "/"))
		}
	}
	out, err := b.command(ctx, filepath.Join(t.dir, root), args...)
	if err != nil {
		return result{}, err
	}
	return readGo(out), nil
}

// packages lists the folders of the tests and the code of a fix.
func packages(f fix) []string {
	var out []string
	for _, p := range slices.Concat(f.code, f.rest) {
		if dir := path.Dir(p); path.Ext(p) == ".go" && !strings.Contains(p, "testdata/") && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 4)]
}

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

// readGo reads the events of go test -json.
func readGo(out string) result {
	r := result{Built: true, Tests: outcomes{}}
	said := map[string]*strings.Builder{}
	s := bufio.NewScanner(strings.NewReader(out))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var e struct {
			Action, Package, Test, Output string
			Elapsed                       float64
		}
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue
		}
		if e.Action == "build-fail" || strings.Contains(e.Output, "[build failed]") ||
			strings.Contains(e.Output, "[setup failed]") {
			r.Built = false
		}
		name := e.Package + " " + e.Test
		switch {
		case e.Test == "":
			r.Took += e.Elapsed
		case e.Action == "output":
			if said[name] == nil {
				said[name] = &strings.Builder{}
			}
			said[name].WriteString(e.Output)
		case e.Action == "pass":
			r.Tests[name] = ""
		case e.Action == "fail":
			text := ""
			if said[name] != nil {
				text = said[name].String()
			}
			r.Tests[name] = "failed " + digest(text)
		}
	}
	return r
}

var (
	variableRE = regexp.MustCompile(`\(?\d+\.\d+s\)?|0x[0-9a-f]+|/tmp/[\w./-]+|(?m:^\s*(?:=== |--- )\w+.*$)|\S+\.go:\d+`)
	traceRE    = regexp.MustCompile(`(?s)\ngoroutine \d+.*`)
)

// digest is a short name for how a test failed.
func digest(text string) string {
	text = variableRE.ReplaceAllString(traceRE.ReplaceAllString(text, ""), "")
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text), " ")))
	return hex.EncodeToString(sum[:6])
}

// python runs the test files that the fix changes.
func (b *bench) python(ctx context.Context, f fix, t *tree) (result, error) {
	report := filepath.Join(b.home, "junit.xml")
	if err := os.Remove(report); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return result{}, err
	}
	args := []string{b.o.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report}
	for _, p := range f.rest {
		if base := path.Base(p); path.Ext(p) == ".py" && base != "conftest.py" && strings.Contains(base, "test") {
			args = append(args, p)
		}
	}
	if _, err := b.command(ctx, t.dir, args...); err != nil {
		return result{}, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return result{}, nil
	}
	return readJUnit(text), nil
}

func readJUnit(text []byte) result {
	var doc struct {
		Cases []struct {
			Name  string `xml:"name,attr"`
			Class string `xml:"classname,attr"`
			Fail  *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if xml.Unmarshal(text, &doc) != nil {
		return result{}
	}
	r := result{Built: len(doc.Cases) > 0, Tests: outcomes{}}
	for _, c := range doc.Cases {
		name := c.Class + " " + c.Name
		switch {
		case c.Error != nil && c.Class == "": // a file that cannot be loaded
			r.Built = false
		case c.Fail != nil:
			r.Tests[name] = "failed " + digest(c.Fail.Message)
		case c.Error != nil:
			r.Tests[name] = "error " + digest(c.Error.Message)
		case c.Skipped == nil:
			r.Tests[name] = ""
		}
	}
	return r
}
