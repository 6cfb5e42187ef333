package knowledge

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

// program returns the ast-grep for the tests: $RUNPLAN_AST_GREP, the one in PATH, or the one in bin/tools of the
// repository.
func program(t testing.TB) patterns.Program {
	t.Helper()
	env := tooltest.Environ(t)
	p, err := patterns.Find(t.Context(), env, "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	return p
}

// place holds a repository and the path of its index.
type place struct {
	t    testing.TB
	repo *git.Repo
	db   string
	now  time.Time
}

var gitEnv = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=Ada",
	"GIT_AUTHOR_EMAIL=a@example.org",
	"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.org"}

// newPlace creates a repository from a txtar archive and commits its files.
func newPlace(t testing.TB, archive string) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, db: filepath.Join(t.TempDir(), "curated.sqlite"), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	p.at(dir, "init", "-q", "-b", "main", ".")
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, dir, f.Name, string(f.Data))
	}
	if p.repo, err = git.Open(t.Context(), dir, append(os.Environ(), gitEnv...)); err != nil {
		t.Fatal(err)
	}
	p.commit("first")
	return p
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *place) at(dir string, args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	p.now = p.now.Add(time.Minute)
	date := p.now.Format(time.RFC3339)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(gitEnv, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *place) write(name, text string) { p.t.Helper(); write(p.t, p.repo.Root, name, text) }

func (p *place) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.repo.Root, filepath.FromSlash(name))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) commit(message string) {
	p.t.Helper()
	p.at(p.repo.Root, "add", "-A")
	p.at(p.repo.Root, "commit", "-q", "--allow-empty", "-m", message)
}

// try indexes the repository into the given database file.
func (p *place) try(db string, change func(*Options)) (Result, error) {
	p.t.Helper()
	c, err := store.OpenCurated(p.t.Context(), db)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	o := Options{Repo: p.repo, Store: c, ContinueOnError: true, Now: time.Now()}
	if change == nil {
		o.Program = program(p.t)
	} else {
		change(&o)
	}
	return Index(p.t.Context(), o)
}

func (p *place) index() Result {
	p.t.Helper()
	res, err := p.try(p.db, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// base opens the index for reading.
func (p *place) base() (Base, int64) {
	p.t.Helper()
	r, err := store.OpenCuratedReader(p.t.Context(), p.db)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { r.Close() })
	id, err := r.Repo(p.t.Context(), p.repo.Root)
	if err != nil {
		p.t.Fatal(err)
	}
	return NewBase(r), id
}

// named lists queries over the tables without ids. Indexes of the same tree with different histories give equal
// results.
var named = []string{
	"SELECT f.path, f.language, f.content_hash, f.size_bytes, s.state, s.reason, s.interface FROM files f JOIN " +
		"file_state s ON s.file_id = f.id",
	"SELECT f.path, s.name, s.kind, s.start_line, s.end_line, s.signature, p.name, p.start_line FROM symbols s JOIN " +
		"files f ON f.id = s.file_id LEFT JOIN symbols p ON p.id = s.parent_symbol_id",
	"SELECT f.path, s.name, s.start_line, d.content, d.format, d.parsed_fields FROM docstrings d JOIN files f ON f.id = " +
		"d.file_id LEFT JOIN symbols s ON s.id = d.symbol_id",
	"SELECT f.path, s.name, s.start_line, c.line, c.content, c.kind, c.is_rationale FROM inline_comments c JOIN files f " +
		"ON f.id = c.file_id LEFT JOIN symbols s ON s.id = c.symbol_id",
	"SELECT f.path, i.path, i.level, i.alias, i.names, i.types, i.line FROM imports i JOIN files f ON f.id = i.file_id",
	"SELECT f.path, g.path, d.kind FROM dependencies d JOIN files f ON f.id = d.source_file_id JOIN files g ON g.id = " +
		"d.target_file_id",
	"SELECT f.path, s.name, s.start_line, g.path, t.name, t.start_line, r.reference_kind, r.confidence FROM " +
		"symbol_references r JOIN symbols s ON s.id = r.caller_symbol_id JOIN files f ON f.id = s.file_id JOIN symbols t " +
		"ON t.id = r.callee_symbol_id JOIN files g ON g.id = t.file_id",
	"SELECT hash, author, message, timestamp, files_changed, insertions, deletions FROM commits",
	"SELECT f.path, c.hash FROM file_commits x JOIN files f ON f.id = x.file_id JOIN commits c ON c.id = x.commit_id",
	"SELECT MIN(f.path, g.path), MAX(f.path, g.path), x.count, x.last_commit_hash FROM co_changes x JOIN files f ON " +
		"f.id = x.file_a_id JOIN files g ON g.id = x.file_b_id",
	"SELECT head, layout FROM repo_state",
}

// raw lists queries over the complete tables, including ids.
var raw = []string{
	"SELECT * FROM repos", "SELECT * FROM files", "SELECT * FROM symbols", "SELECT * FROM docstrings",
	"SELECT * FROM inline_comments",
	"SELECT * FROM dependencies", "SELECT * FROM symbol_references", "SELECT * FROM commits", "SELECT * FROM file_commits",
	"SELECT * FROM co_changes",
	"SELECT * FROM imports", "SELECT * FROM history_paths", "SELECT * FROM history", "SELECT * FROM repo_state",
	"SELECT file_id, reader, state, reason, interface, refs FROM file_state",
}

// dump returns the results of some queries over a database file as text.
func dump(t testing.TB, path string, queries []string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)") // a cancelled write may end after its Close
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, q := range queries {
		rows, err := db.QueryContext(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		columns, _ := rows.Columns()
		var lines []string
		for rows.Next() {
			row, at := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				at[i] = &row[i]
			}
			if err := rows.Scan(at...); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%v", row))
		}
		rows.Close()
		slices.Sort(lines)
		fmt.Fprintf(&b, "-- %s\n%s\n", q, strings.Join(lines, "\n"))
	}
	return b.String()
}
