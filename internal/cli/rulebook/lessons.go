// Package rulebook holds the commands for the lessons and patterns of a project, and reads both for the gates.
package rulebook

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/runner/journal"
)

// NewLessonsCommand returns the command lessons.
func NewLessonsCommand(a *cli.App) *cobra.Command {
	return cli.Group("lessons", "Manage lessons: known mistakes, and how to find them",
		`Store the lessons of earlier work, one markdown file each, and find the same mistakes again.

Lessons come in three layers: built in, yours in $RUNPLAN_HOME/lessons, and the project's in
.runplan/lessons. A later layer replaces a lesson of the same id. A syntactic lesson has a
regular expression to search for; a semantic one is for people and models to judge.

A comment with the lesson and a reason accepts a place:

  password = "local-only-1"  # runplan:ignore 0029 only opens the sandbox`,
		newLessonsListCommand(a), newLessonsShowCommand(a), newLessonsCheckCommand(a), newLessonsNewCommand(a),
		newLessonsSummaryCommand(a), newLessonsImportCommand(a))
}

// LessonLibrary loads the lessons of all layers for the project around the current folder. It also returns the folder
// of the project's own lessons.
func LessonLibrary(ctx context.Context, a *cli.App) (lib *lessons.Library, own string, err error) {
	root, err := treeHere(ctx, a)
	if err != nil {
		return nil, "", err
	}
	return lessonsOf(a, root)
}

// treeHere returns the root of the repository around the current folder, or else that folder.
func treeHere(ctx context.Context, a *cli.App) (string, error) {
	root, err := a.RootHere(ctx)
	if err != nil {
		return "", err
	}
	if root == "" {
		return cli.CurrentFolder()
	}
	return root, cli.NoLinks(journal.LayoutOf(root))
}

// withLessons makes the function of a command that works with [LessonLibrary].
func withLessons(a *cli.App, do func(ctx context.Context, lib *lessons.Library, own string, args []string) error) func(
	*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		lib, own, err := LessonLibrary(cmd.Context(), a)
		if err != nil {
			return err
		}
		return do(cmd.Context(), lib, own, args)
	}
}

// changingLessons is [withLessons] for a command that writes lessons. It needs a repository, and locks the lessons, so
// that two such commands do not take the same id.
func changingLessons(a *cli.App,
	do func(ctx context.Context, lib *lessons.Library, own string, args []string) error) func(
	*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		root, err := inRepo(cmd.Context(), a, "lessons")
		if err != nil {
			return err
		}
		layout := journal.LayoutOf(root)
		if err := layout.Make(); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(layout.LessonsLock()), 0o755); err != nil {
			return err
		}
		unlock, err := atomicfile.Lock(layout.LessonsLock())
		if err != nil {
			return err
		}
		defer unlock()
		return withLessons(a, do)(cmd, args)
	}
}

// inRepo returns the root of the repository around the current folder. Without one there is no project that the files
// could belong to.
func inRepo(ctx context.Context, a *cli.App, what string) (string, error) {
	root, err := a.RootHere(ctx)
	if err == nil && root == "" {
		err = cli.Usage(fmt.Errorf("not inside a git repository, so no project can have the %s", what),
			"change into one, or make one: git init")
	}
	if err != nil {
		return "", err
	}
	return root, cli.NoLinks(journal.LayoutOf(root))
}

// lessonsOf loads the lessons of all layers for the tree at root.
func lessonsOf(a *cli.App, root string) (lib *lessons.Library, own string, err error) {
	layers := []lessons.Layer{lessons.BuiltIn()}
	for _, l := range RuleLayers(a, root) {
		own = cli.Rel(l.Lessons) // the project's layer is the last
		layers = append(layers, lessons.DirLayer(l.name, own))
	}
	if lib, err = lessons.Load(layers...); err != nil {
		return nil, "", cli.Usage(err, "correct the lesson files; runplan lessons show 0001 shows an example")
	}
	return lib, own, nil
}

func tell(a *cli.App, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(a.Stderr, "note: %s\n", ui.Sanitize(n))
	}
}

func newLessonsListCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2", JSON: "a JSON array"}, &cobra.Command{
		Use:   "list",
		Short: "List the lessons with their layer",
		Long:  "List the lessons of all layers. A lesson that replaces another is marked.",
		Args:  cobra.NoArgs,
		RunE: withLessons(a, func(_ context.Context, lib *lessons.Library, _ string, _ []string) error {
			if a.JSON {
				short := []lessons.Lesson{}
				for _, l := range lib.Lessons {
					x := *l
					x.Body = ""
					short = append(short, x)
				}
				return cli.AsJSON(a.Stdout, short)
			}
			var rows ui.Rows
			for _, l := range lib.Lessons {
				layer := l.Layer
				if l.Replaces != "" {
					layer += " (replaces " + l.Replaces + ")"
				}
				rows.Add(l.ID, l.Severity, l.Pattern.Type, l.Category,
					measuredOf("lesson/"+l.ID, l.Layer == lessons.BuiltIn().Name), ui.Brief(l.Title, 70), layer)
			}
			header := []string{"id", "severity", "type", "category", "measured", "title", "layer"}
			ui.Table(a.Stdout, header, rows)
			tell(a, lib.Notes)
			return nil
		}),
	})
}

func newLessonsShowCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2", JSON: "a JSON object"}, &cobra.Command{
		Use:   "show ID",
		Short: "Show one lesson",
		Long:  "Show the text of a lesson and the path of its file.",
		Args:  cli.ExactlyOne("the id of a lesson"),
		RunE: withLessons(a, func(_ context.Context, lib *lessons.Library, _ string, args []string) error {
			l, ok := lib.Get(args[0])
			if !ok {
				return cli.Usage(fmt.Errorf("unknown lesson %q", args[0]), "runplan lessons list shows them")
			}
			if a.JSON {
				return cli.AsJSON(a.Stdout, l)
			}
			text, err := lessons.Format(l)
			if err != nil {
				return err
			}
			printText(a, string(text))
			fmt.Fprintf(a.Stderr, "%s lesson, %s\n", l.Layer, ui.Sanitize(l.Path))
			return nil
		}),
	})
}

// printText prints a text without control codes. It keeps the indentation of lines, which matters in a lesson.
func printText(a *cli.App, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		text := strings.TrimLeft(line, " ")
		fmt.Fprintln(a.Stdout, line[:len(line)-len(text)]+ui.Sanitize(text))
	}
}

func newLessonsNewCommand(a *cli.App) *cobra.Command {
	var regex, severity, category string
	var languages []string
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "new TITLE",
		Short: "Create a lesson of the project from a template",
		Long: `Write a new lesson into .runplan/lessons, with the next free id. With --regex it is syntactic
and takes effect at once; without, it is semantic.`,
		Args: cli.ExactlyOne("a title, in quotes"),
		RunE: changingLessons(a, func(_ context.Context, lib *lessons.Library, own string, args []string) error {
			id, err := lessons.NextID(lib)
			if err != nil {
				return cli.Usage(err, "")
			}
			l := lessons.Draft(id, args[0])
			if regex != "" {
				l.Pattern.Type, l.Pattern.Regex = lessons.Syntactic, regex
			}
			l.Severity = cmp.Or(lessons.Severity(severity), l.Severity)
			l.Category = cmp.Or(lessons.Category(category), l.Category)
			if len(languages) > 0 {
				l.Languages = languages
			}
			if _, err := lessons.Format(l); err != nil {
				return cli.Usage(err, "nothing was written")
			}
			path, err := lessons.Write(own, l)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, path)
			return nil
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&regex, "regex", "", "regular expression (RE2) that finds the mistake")
		f.StringVar(&severity, "severity", "",
			"blocker, should-fix, nice-to-have or lesson-learned (default should-fix)")
		cli.Values(f, "severity", lessons.Severities())
		f.StringVar(&category, "category", "", "one of the six categories (default silent-failures)")
		cli.Values(f, "category", lessons.Categories())
		f.StringSliceVar(&languages, "language", nil, "languages that it applies to (default all)")
	})
}

func newLessonsSummaryCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2"}, &cobra.Command{
		Use:   "summary",
		Short: "Print the lessons on one page",
		Long: `Print the summary page of the lessons: a table of all lessons, three root causes, six
design rules, and where to look first for each symptom.`,
		Args: cobra.NoArgs,
		RunE: withLessons(a, func(_ context.Context, lib *lessons.Library, _ string, _ []string) error {
			text, err := lessons.Summary(lib)
			if err != nil {
				return err
			}
			printText(a, text)
			return nil
		}),
	})
}

func newLessonsImportCommand(a *cli.App) *cobra.Command {
	var o lessons.ImportOptions
	return a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "import DIR",
		Short: "Import lessons from a folder",
		Long: `Import the lessons of a folder: markdown with front matter of the same kind. Unusable lessons
are rejected with their line; small mistakes are corrected and reported. A lesson
whose id is in use gets the next free one, unless --keep-ids makes it replace the other.`,
		Args: cli.ExactlyOne("a folder of lessons"),
		RunE: changingLessons(a, func(_ context.Context, lib *lessons.Library, own string, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return cli.Usage(fmt.Errorf("%s is not a folder", args[0]), "give the folder with the lesson files")
			}
			r, err := lessons.Import(lessons.DirLayer("imported", args[0]), own, lib, o)
			if err != nil {
				return err
			}
			err = a.Print(r, func() { printImport(a, r) })
			if err == nil && len(r.Rejected) > 0 {
				err = cli.Fail(cli.ExitFailed,
					fmt.Errorf("%d of %d files could not be imported", rejectedFiles(r),
						len(r.Imported)+len(r.Known)+rejectedFiles(r)), "the others were imported; correct these and import again")
			}
			return err
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&o.KeepIDs, "keep-ids", false, "keep ids, so that lessons replace those of earlier layers")
		f.StringToStringVar(&o.Categories, "category", nil,
			"THEIRS=OURS: read a category under another name; may be repeated")
	})
}

func rejectedFiles(r lessons.ImportReport) int {
	return len(lists.SetBy(r.Rejected, func(e *lessons.FileError) string { return e.Path }))
}

func printImport(a *cli.App, r lessons.ImportReport) {
	for _, i := range r.Imported {
		fmt.Fprintf(a.Stdout, "%s → %s\n", ui.Sanitize(i.From), ui.Sanitize(i.To))
		for _, n := range i.Notes {
			fmt.Fprintf(a.Stdout, "  %s\n", ui.Sanitize(n))
		}
	}
	for _, k := range r.Known {
		fmt.Fprintf(a.Stdout, "omitted: %s\n", ui.Sanitize(k))
	}
	for _, e := range r.Rejected {
		fmt.Fprintf(a.Stdout, "rejected: %s\n", ui.Sanitize(e.Error()))
	}
	fmt.Fprintf(a.Stderr, "%d imported, %d already present, %d rejected\n", len(r.Imported), len(r.Known),
		rejectedFiles(r))
}
