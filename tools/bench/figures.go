package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// parse compares the parser with goldmark's own parse of the same bytes, by the benchmarks of planparse.
func (b *bench) parse() error {
	program := filepath.Join(b.place.Dir, "planparse.test")
	build := exec.Command("go", "test", "-c", "-o", program, "./planparse")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	for _, input := range []string{"corpus", "large", "thousand"} {
		var ours, floor, ratio []float64
		for range b.of(9, 3) {
			v, err := b.benchmark(program, "BenchmarkParse", input)
			if err != nil {
				return err
			}
			fl, err := b.benchmark(program, "BenchmarkGoldmarkFloor", input)
			if err != nil {
				return err
			}
			ours, floor, ratio = append(ours, v), append(floor, fl), append(ratio, v/fl)
		}
		b.add("parse, "+input+" (goldmark)", ms(median(ours)), ms(median(floor)), median(ratio), 1.3)
	}
	return nil
}

// benchmark runs one benchmark of planparse and returns its nanoseconds an operation.
func (b *bench) benchmark(program, name, input string) (float64, error) {
	cmd := exec.Command(program, "-test.run=^$", "-test.bench=^"+name+"$/^"+input+"$", "-test.benchtime=300ms")
	cmd.Dir = "planparse"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 4 && strings.HasPrefix(f[0], name+"/") {
			return strconv.ParseFloat(f[2], 64)
		}
	}
	return 0, fmt.Errorf("%s/%s printed no figure:\n%s", name, input, out)
}

// add adds a figure that is judged by its ratio.
func (b *bench) add(what, value, floor string, ratio, goal float64) {
	b.figures = append(b.figures,
		figure{what, value, floor, fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≤ %g×", goal), ratio <= goal})
}

func ms(ns float64) string { return fmt.Sprintf("%.2f ms", ns/1e6) }

// start compares the start-up with that of an empty Go program and of git.
func (b *bench) start() error {
	empty, err := b.empty()
	if err != nil {
		return err
	}
	programs := [][]string{{b.place.Runplan, "--version"}, {empty}, {"git", "--version"}}
	took := make([][]float64, len(programs))
	for range b.of(60, 15) {
		for i, p := range programs {
			began := time.Now()
			if err := b.place.Command(b.place.Dir, p[0], p[1:]...).Run(); err != nil {
				return err
			}
			took[i] = append(took[i], float64(time.Since(began)))
		}
	}
	v := median(took[0])
	for i, floor := range []string{"an empty Go program", "git --version"} {
		fl := median(took[i+1])
		f := figure{what: "start-up (" + floor + ")", value: ms(v), floor: ms(fl), ratio: fmt.Sprintf("%.2f", v/fl)}
		if i == 0 {
			f.goal, f.met = "≤ 10 ms", v <= 10e6
		}
		b.figures = append(b.figures, f)
	}
	return nil
}

// empty builds a Go program that does nothing.
func (b *bench) empty() (string, error) {
	empty := filepath.Join(b.place.Dir, "empty")
	src := empty + ".go"
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", empty, src)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return empty, nil
}

// plan has n batches that write one small file each, so that the agent takes no time.
func plan(n int) string { return planOf(n, "text", "%d.txt", "part %d\n") }

// planOf returns the plan of n batches that write a file each. name and body contain the number of the batch.
func planOf(n int, language, name, body string) string {
	var s strings.Builder
	s.WriteString("# Bench\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&s, "## Batch %d: Part %d\n\n### Task %d: Write it\n\n```%s file=parts/", i, i, i, language)
		fmt.Fprintf(&s, name+"\n"+body+"```\n\n", i, i)
	}
	return s.String()
}

const config = "[gates]\ndetect = false\n[[gates.command]]\nname = \"true\"\nrun = \"true\"\n"

// repository makes a typical repository: some folders, two hundred files.
func (b *bench) repository(name string, batches int) (string, error) {
	files := map[string]string{"plan.md": plan(batches), ".runplan/config.toml": config}
	for i := range 200 {
		files[fmt.Sprintf("src/dir%d/file%d.txt", i%10, i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40)
	}
	return b.place.Repo(name, files)
}

// run runs the plan of a repository and returns its time and the peak memory of the process.
func (b *bench) run(dir string) (time.Duration, int64, error) {
	cmd := b.place.Command(dir, b.place.Runplan, "run", "plan.md", "--plain")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, errOut.String())
	}
	took := time.Since(began)
	rss := int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return took, rss << 10, nil
}

// bare does the minimum of a batch with git alone: a branch in a worktree, a file, a commit, a ref.
func (b *bench) bare(dir string, batches int) (time.Duration, error) {
	base, err := b.place.Git(dir, "rev-parse", "HEAD")
	if err != nil {
		return 0, err
	}
	tree := filepath.Join(dir, ".runplan", "bare")
	began := time.Now()
	if _, err := b.place.Git(dir, "worktree", "add", "--quiet", "--detach", tree, base); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Join(tree, "parts"), 0o755); err != nil {
		return 0, err
	}
	for i := 1; i <= batches; i++ {
		if _, err := b.place.Git(tree, "checkout", "--quiet", "--force", "-B", fmt.Sprintf("bare/b%d", i), base); err != nil {
			return 0, err
		}
		if err := os.MkdirAll(filepath.Join(tree, "parts"), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(tree, "parts", fmt.Sprintf("%d.txt", i)), fmt.Appendf(nil, "part %d\n", i),
			0o644); err != nil {
			return 0, err
		}
		for _, args := range [][]string{
			{"add", "--all"},
			{"commit", "--quiet", "-m", fmt.Sprintf("Part %d", i)},
			{"update-ref", "refs/heads/bare/main", "HEAD"},
		} {
			if _, err := b.place.Git(tree, args...); err != nil {
				return 0, err
			}
		}
		base = "bare/main"
	}
	return time.Since(began), nil
}

// batch compares the time of a batch with that of the git commands that it needs. It measures batches of text, of code
// in which no rule of ast-grep can match, and of code that an installed ast-grep checks.
func (b *bench) batch() error {
	if err := b.batches("", func(n int) string { return plan(n) }); err != nil {
		return err
	}
	if err := b.batches(" of Go code",
		func(n int) string { return planOf(n, "go", "p%d.go", "package parts\n\nconst P%d = 1\n") }); err != nil {
		return err
	}
	return b.batches(" of Go code that ast-grep checks", func(n int) string {
		return planOf(n, "go", "p%d.go",
			"package parts\n\nimport \"os\"\n\nfunc P%d() {\n\tfor {\n\t\tdefer os.Remove(\"x\")\n\t}\n}\n")
	})
}

func (b *bench) batches(what string, plan func(n int) string) error {
	n := b.of(50, 20)
	var ours, floor, ratio []float64
	name := strings.ReplaceAll(what, " ", "-")
	for i := range b.of(5, 2) {
		dir, err := b.repository(fmt.Sprintf("batch%s-%d", name, i), n)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "plan.md"), []byte(plan(n)), 0o644); err != nil {
			return err
		}
		if _, err := b.place.Git(dir, "commit", "--all", "--quiet", "--allow-empty", "--message=plan"); err != nil {
			return err
		}
		bare, err := b.repository(fmt.Sprintf("bare%s-%d", name, i), n)
		if err != nil {
			return err
		}
		fl, err := b.bare(bare, n)
		if err != nil {
			return err
		}
		v, _, err := b.run(dir)
		if err != nil {
			return err
		}
		ours, floor, ratio = append(ours, float64(v)/float64(n)), append(floor, float64(fl)/float64(n)),
			append(ratio, float64(v)/float64(fl))
		// Nothing is removed before the end: ext4 creates files slowly for some seconds after many were removed.
	}
	b.add(fmt.Sprintf("a batch%s, one of %d (git alone)", what, n), ms(median(ours)), ms(median(floor)), median(ratio), 2)
	return nil
}

// memory measures the peak memory of a long run. Its floor is the same program on a plan of one batch.
func (b *bench) memory() error {
	n := b.of(1000, 100)
	var peak [2]int64
	for i, batches := range []int{1, n} {
		dir, err := b.repository(fmt.Sprintf("memory-%d", batches), batches)
		if err != nil {
			return err
		}
		if _, peak[i], err = b.run(dir); err != nil {
			return err
		}
	}
	mib := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	b.figures = append(b.figures, figure{
		fmt.Sprintf("peak memory, %d batches (1 batch)", n), mib(peak[1]), mib(peak[0]),
		fmt.Sprintf("%.2f", float64(peak[1])/float64(peak[0])), "≤ 64 MiB", peak[1] <= 64<<20,
	})
	return nil
}
