package patterns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

const (
	maxAnswer  = 64 << 20 // bytes of one chunk's answer; each record repeats its whole line
	maxChunk   = 2000     // files
	fewFiles   = 8        // files; scanning fewer takes less time than starting a second thread
	emptyFile  = "emptyFile"
	noRule     = "noRule"
	exitFound  = 1 // of the program: a hit at severity error
	exitConfig = 8 // of the program: rule, pattern or configuration is not valid
)

// scanOutput is the output of ast-grep.
type scanOutput struct {
	records []record
	files   map[string]string // file → "" if rules were applied to it, else the reason
}

// unread returns why ast-grep did not read a file; "" if it did.
func (s scanOutput) unread(file string) string {
	why, looked := s.files[file]
	switch {
	case !looked:
		return "ast-grep did not report that it read the file"
	case why == emptyFile:
		return ""
	}
	return why
}

// run applies rules to files of dir, chunk by chunk. It never runs ast-grep without a file, because that would scan
// the whole folder.
func (p Program) run(ctx context.Context, dir string, files []source, rules string) (scanOutput, error) {
	all := scanOutput{files: map[string]string{}}
	if len(files) == 0 {
		return all, nil
	}
	job := job{Program: p, rules: rules}
	// Globs in rules are relative to the configuration's folder for files below it, else to the scanned one. So scanned
	// files must not be below the configuration.
	if job.own = p.Scratch; job.own == "" {
		own, err := os.MkdirTemp("", "runplan-patterns-")
		if err != nil {
			return all, fmt.Errorf("make a folder for ast-grep: %w", err)
		}
		defer os.RemoveAll(own)
		job.own = own
	}
	var plain, copies []source
	for _, f := range files {
		if f.neutral == nil {
			plain = append(plain, f)
			continue
		}
		copies = append(copies, f)
	}
	copied, err := copyAll(copies)
	if copied != "" {
		defer os.RemoveAll(copied)
	}
	if err != nil {
		return all, err
	}
	for _, part := range []struct {
		dir   string
		files []source
	}{{dir, plain}, {copied, copies}} {
		for _, c := range chunks(part.files, argvLimit()) {
			if err := job.chunk(ctx, part.dir, c, &all); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// copyAll writes the texts that ast-grep must read instead of the files into a new folder. Without any it returns "".
func copyAll(files []source) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "runplan-patterns-")
	if err != nil {
		return "", fmt.Errorf("make a folder for ast-grep: %w", err)
	}
	for _, f := range files {
		to := filepath.Join(dir, filepath.FromSlash(f.path))
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			err = os.WriteFile(to, f.neutral, 0o600)
		}
		if err != nil {
			return dir, fmt.Errorf("copy %s for ast-grep: %w", f.path, err)
		}
	}
	return dir, nil
}

// argvLimit returns the number of bytes of paths on one command line. Linux and macOS allow far more, minus the
// environment; Windows allows 32 KiB.
func argvLimit() int {
	if runtime.GOOS == "windows" {
		return 16 << 10
	}
	return 128 << 10
}

// chunks divides files into parts whose paths fit into an argument list.
func chunks(files []source, limit int) [][]source {
	var all [][]source
	var size, first int
	for i, f := range files {
		n := len(f.path) + 3
		if i > first && (size+n > limit || i-first == maxChunk) {
			all, first, size = append(all, files[first:i]), i, 0
		}
		size += n
	}
	if first < len(files) {
		all = append(all, files[first:])
	}
	return all
}

// job is one set of rules, with the folder for the files that the program needs.
type job struct {
	Program
	own, rules string
}

// chunk scans files in one process. If the answer is too long it halves them; a file that alone is too much
// is skipped.
func (j job) chunk(ctx context.Context, dir string, files []source, all *scanOutput) error {
	config, rules, err := j.write(files)
	if err != nil {
		return err
	}
	args := []string{j.Path, "scan", "--config", config, "--rule", rules, "--json=stream", "--inspect", "entity",
		"--color", "never"}
	if len(files) < fewFiles {
		args = append(args, "--threads=1")
	}
	args = append(args, "--")
	for _, f := range files {
		args = append(args, "./"+filepath.FromSlash(f.path)) // a name may begin with a dash
	}
	var out output
	res, err := proc.Run(ctx, proc.Cmd{
		Args: args, Dir: dir, Env: j.Env, Reaper: j.Reaper, KeepStdout: maxAnswer, Keep: 1 << 10,
		Limits: proc.Limits{Total: j.limit()}, Line: out.line,
	})
	if err != nil {
		return fmt.Errorf("run ast-grep: %w", err)
	}
	if res.Truncated && len(files) > 1 {
		if err := j.chunk(ctx, dir, files[:len(files)/2], all); err != nil {
			return err
		}
		return j.chunk(ctx, dir, files[len(files)/2:], all)
	}
	if err := verdict(res, out.said); err != nil {
		return err
	}
	if res.Truncated {
		all.files[files[0].path] = fmt.Sprintf("the answer to it is longer than %d MiB", maxAnswer>>20)
		return nil
	}
	records, err := parseStream(res.Stdout)
	if err != nil {
		return err
	}
	asked := lists.SetBy(files, func(f source) string { return f.path })
	loud := false
	for _, r := range records {
		r.File = path.Clean(filepath.ToSlash(r.File))
		if !asked[r.File] {
			return fmt.Errorf("ast-grep %s answered about %q, which was not in the request; install version %sx",
				j.Version, r.File, KnownGood)
		}
		loud = loud || r.Severity == string(Error)
		all.records = append(all.records, r)
	}
	if loud != (res.Exit == exitFound) {
		return fmt.Errorf("ast-grep %s exited with %d, which contradicts its output; install version %sx", j.Version,
			res.Exit, KnownGood)
	}
	return all.read(out.notes, asked)
}

// output collects the lines of ast-grep that are not its answer: notes on files, and messages.
type output struct{ notes, said []string }

func (o *output) line(l string) {
	switch {
	case strings.HasPrefix(l, "{"):
	case strings.HasPrefix(l, "sg: "):
		o.notes = append(o.notes, l)
	case len(o.said) < 50:
		o.said = append(o.said, l)
	}
}

// verdict distinguishes an answer from a failure.
func verdict(res proc.Result, said []string) error {
	text := phrase.CutBytes(phrase.Line(strings.Join(said, " ")), 2000)
	switch {
	case res.Ended == proc.Cancelled:
		return fmt.Errorf("ast-grep was stopped: %w", res.Cause)
	case res.Ended == proc.Total:
		return fmt.Errorf("ast-grep was stopped after %s; scan fewer files, or remove rules", res.Duration.Round(1e8))
	case res.Ended == proc.Signaled:
		return fmt.Errorf("ast-grep crashed (%s): %s", res.Signal, text)
	case res.Exit == exitConfig:
		return fmt.Errorf("%w: %s", ErrRule, text)
	case res.Exit != 0 && res.Exit != exitFound:
		return fmt.Errorf("ast-grep exited with status %d: %s", res.Exit, text)
	}
	// The program continues after such lines, and exits with 0.
	for _, l := range said {
		if strings.HasPrefix(strings.TrimSpace(l), "ERROR:") {
			return fmt.Errorf("ast-grep could not run: %s", strings.TrimSpace(l))
		}
	}
	return nil
}

// read takes the notes on files: "sg: entity|file|a.py: language=Python,appliedRuleCount=2" and
// "sg: entity|file|b.py: skipped=invalidUtf8".
func (s *scanOutput) read(notes []string, asked map[string]bool) error {
	for _, n := range notes {
		rest, ok := strings.CutPrefix(n, "sg: entity|file|")
		i := strings.LastIndex(rest, ": ")
		if !ok || i < 0 {
			continue
		}
		file, what := path.Clean(filepath.ToSlash(rest[:i])), rest[i+2:]
		if !asked[file] {
			continue
		}
		switch reason, skipped := strings.CutPrefix(what, "skipped="); {
		case skipped && reason == emptyFile:
			s.files[file] = emptyFile
		case skipped:
			s.files[file] = "ast-grep skipped it: " + reason
		case strings.HasSuffix(what, "appliedRuleCount=0"):
			s.files[file] = noRule
		case strings.Contains(what, "appliedRuleCount="):
			s.files[file] = ""
		}
	}
	if len(notes) == 0 {
		return errors.New("ast-grep did not report which files it read; install version " + KnownGood + "x")
	}
	return nil
}

// write makes sure that the program's files are there, and returns their paths: a configuration of our own, so that one
// in the scanned repository is not used, and the rules. The configuration declares scripts without a file name
// extension. The files have a folder for each content, because to make files costs more time than to read them.
func (j job) write(files []source) (config, rules string, err error) {
	globs := map[string][]string{}
	for _, f := range files {
		if f.byName != "" {
			globs[f.language] = append(globs[f.language], f.byName)
		}
	}
	settings := map[string]any{"ruleDirs": []string{}}
	if len(globs) > 0 {
		settings["languageGlobs"] = globs
	}
	data, err := json.Marshal(settings) // JSON is YAML
	if err != nil {
		return "", "", fmt.Errorf("write a configuration for ast-grep: %w", err)
	}
	dir := filepath.Join(j.own, checksum.SHA256(append(append(data, 0), j.rules...))[:16])
	config, rules = filepath.Join(dir, "sgconfig.yml"), filepath.Join(dir, "rules.yml")
	if holds(config, data) && holds(rules, []byte(j.rules)) {
		return config, rules, nil
	}
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = atomicfile.WriteLoose(config, data, 0o600)
	}
	if err == nil {
		err = atomicfile.WriteLoose(rules, []byte(j.rules), 0o600)
	}
	if err != nil {
		return "", "", fmt.Errorf("write the rules for ast-grep: %w", err)
	}
	return config, rules, nil
}

// holds reports whether a regular file has this content. An earlier scan wrote it, but others may have changed it
// since.
func holds(path string, data []byte) bool {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != int64(len(data)) {
		return false
	}
	now, err := os.ReadFile(path)
	return err == nil && bytes.Equal(now, data)
}
