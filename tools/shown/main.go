// Command shown measures the gate plan:examples on documentation: the calls with results that the documents of a
// repository show are made on the repository's own code. Since documents mostly tell the truth, an example that differs
// is mostly a mistake of the gate.
//
//	go run ./tools/shown FOLDER_OF_CHECKOUTS
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/examples"
	"github.com/runplan/runplan/planparse"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shown FOLDER_OF_CHECKOUTS")
		os.Exit(2)
	}
	if err := measure(context.Background(), os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "shown:", err)
		os.Exit(1)
	}
}

// counted matches the count in the note of the gate.
var counted = regexp.MustCompile(`^(\d+) of (\d+) examples? as shown`)

func measure(ctx context.Context, w io.Writer, folder string) error {
	dirs, err := filepath.Glob(filepath.Join(folder, "*", ".git"))
	if err != nil {
		return err
	}
	shown, held, wrong := 0, 0, 0
	for _, d := range dirs {
		dir := filepath.Dir(d)
		out, err := exec.CommandContext(ctx, "git", "-C", dir, "ls-files").Output()
		if err != nil {
			return fmt.Errorf("list the files of %s: %w", dir, err)
		}
		files := strings.Split(strings.TrimSpace(string(out)), "\n")
		for _, f := range files {
			if ext := strings.ToLower(filepath.Ext(f)); ext != ".md" && ext != ".rst" && ext != ".markdown" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f))
			if err != nil {
				continue // a link to a file that is not there
			}
			g, ok := examples.Gate(&planparse.Batch{Text: string(text)}, examples.Options{Files: func() []string { return files }})
			if !ok {
				continue
			}
			rep, err := g.Check(ctx, gates.Subject{Dir: dir})
			if err != nil {
				return fmt.Errorf("%s in %s: %w", f, dir, err)
			}
			if m := counted.FindStringSubmatch(rep.Note); m != nil {
				h, _ := strconv.Atoi(m[1])
				all, _ := strconv.Atoi(m[2])
				held, shown, wrong = held+h, shown+all, wrong+len(rep.Findings)
			}
			fmt.Fprintf(w, "%s/%s: %s\n", filepath.Base(dir), f, rep.Note)
			for _, found := range rep.Findings {
				fmt.Fprintln(w, "  differs:", found.Message)
			}
		}
	}
	fmt.Fprintf(w, "%d examples: %d hold, %d differ, %d not decided\n", shown, held, wrong, shown-held-wrong)
	return nil
}
