package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// each returns an iterator over commits.
func each(all ...Touched) iter.Seq2[Touched, error] {
	return func(yield func(Touched, error) bool) {
		for _, c := range all {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// begin begins to index a repository into a database, which it closes after the test.
func begin(t *testing.T, path string) (*Curated, *CuratedTx, RepoState) {
	t.Helper()
	c, err := OpenCurated(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := tx.Repo(t.Context(), "/repo", "", "2030-01-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	return c, tx, s
}

// filled creates a database of two files, with one symbol each, that refer to each other.
func filled(t *testing.T) (path string, repo int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a b", "curated.sqlite")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	c, tx, s := begin(t, path)
	defer c.Close() // others open it
	files := map[string]int64{}
	for i, name := range []string{"a.py", "b.py"} {
		id, err := tx.PutFile(t.Context(), s.ID,
			FileState{File: File{Path: name, Language: "python", Hash: "h", Size: 1, State: "parsed"}})
		if err != nil {
			t.Fatal(err)
		}
		files[name] = id
		first := tx.SymbolIDs(2)
		if err := tx.PutContent(t.Context(), id, true, Content{
			Symbols: []Symbol{{ID: first, Name: "m", Kind: "method", Start: 2, End: 2, Parent: first + 1},
				{ID: first + 1, Name: fmt.Sprintf("K%d", i), Kind: "class", Start: 1, End: 3}},
			Docstrings: []Docstring{{Symbol: first, Content: "d", Format: "plain", Fields: "{}"},
				{Content: "module", Format: "plain", Fields: "{}"}},
			Comments: []Comment{{Line: 1, Content: "because", Kind: "rationale", Rationale: true},
				{Line: 2, Content: "x", Kind: "general"}},
			Imports: []Import{{Path: "b", Line: 1}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tx.AddDependency(t.Context(), 1, 2, "import"), tx.AddReference(t.Context(), 1, 4, "call", 0.5),
		tx.AddReference(t.Context(), 1, 3, "call", 0.9)); err != nil {
		t.Fatal(err)
	}
	many := Touched{Commit: Commit{Hash: "c3", Author: "Ada", Message: "move", Time: "2030-01-03T00:00:00Z",
		Files: CoChangeLimit + 1}, Paths: []string{"a.py", "b.py"}}
	err := tx.AddHistory(t.Context(), s.ID, each(
		Touched{Commit{Hash: "c1", Author: "Ada", Message: "one", Time: "2030-01-01T00:00:00Z", Files: 2},
			[]string{"a.py", "b.py"}, ""},
		Touched{Commit{Hash: "c2", Author: "Ada", Message: "two", Time: "2030-01-02T00:00:00Z", Files: 3},
			[]string{"a.py", "b.py", "gone.py"}, ""}, many,
	), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"INSERT INTO file_metadata (file_id, domain, module, concepts) VALUES (2, 'shop', 'cart', '[\"price\", \"tax\"]')",
		"INSERT INTO adapter_metadata (stage_name, base_model, model_tag, version, active, deployed_at) VALUES ('scope', " +
			"'coding', 'old', 1, 1, 'x'), ('scope', 'coding', 'new', 2, 1, 'x'), ('scope', 'coding', 'off', 3, 0, 'x')",
	} {
		if _, err := c.db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return path, s.ID
}

// Each query of the index has an answer in a fixed order.
func TestCuratedQueries(t *testing.T) {
	path, repo := filled(t)
	c, err := OpenCuratedReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	show := func(v any, err error) string {
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("%+v", v)
	}
	for _, tc := range []struct{ what, got, want string }{
		{"repo", show(c.Repo(ctx, "/repo")), "1"},
		{"no repo", show(c.Repo(ctx, "/other")), "0"},
		{"files", show(c.Files(ctx, repo, "")),
			"[{ID:1 Path:a.py Language:python Hash:h Size:1 State:parsed Reason:} {ID:2 Path:b.py Language:python Hash:h " +
				"Size:1 State:parsed Reason:}]"},
		{"files in go", show(c.Files(ctx, repo, "go")), "[]"},
		{"metadata", show(c.FilesByMetadata(ctx, repo, "shop", "", []string{"tax"})),
			"[{ID:2 Path:b.py Language:python Hash:h Size:1 State:parsed Reason:}]"},
		{"other concepts", show(c.FilesByMetadata(ctx, repo, "", "", []string{"ta"})), "[]"},
		{"methods", show(c.Symbols(ctx, 1, "method")),
			"[{ID:1 File:1 Path:a.py Name:m Kind:method Start:2 End:2 Signature: Parent:2}]"},
		{"by name", show(c.SymbolsByName(ctx, repo, "K*")),
			"[{ID:2 File:1 Path:a.py Name:K0 Kind:class Start:1 End:3 Signature: Parent:0} {ID:4 File:2 Path:b.py Name:K1 " +
				"Kind:class Start:1 End:3 Signature: Parent:0}]"},
		{"by exact name", show(c.SymbolsByName(ctx, repo, "K1")),
			"[{ID:4 File:2 Path:b.py Name:K1 Kind:class Start:1 End:3 Signature: Parent:0}]"},
		{"neighbors", show(c.Neighbors(ctx, 1, Out, "call")),
			"[{Symbol:{ID:3 File:2 Path:b.py Name:m Kind:method Start:2 End:2 Signature: Parent:4} Reference:call " +
				"Confidence:0.9} {Symbol:{ID:4 File:2 Path:b.py Name:K1 Kind:class Start:1 End:3 Signature: Parent:0} " +
				"Reference:call Confidence:0.5}]"},
		{"other kinds", show(c.Neighbors(ctx, 1, Both, "type")), "[]"},
		{"callers", show(c.Neighbors(ctx, 4, In)),
			"[{Symbol:{ID:1 File:1 Path:a.py Name:m Kind:method Start:2 End:2 Signature: Parent:2} Reference:call " +
				"Confidence:0.5}]"},
		{"dependencies", show(c.Dependencies(ctx, 1, Both)), "[{Source:1 Target:2 Kind:import Path:b.py Language:python}]"},
		{"dependents", show(c.Dependencies(ctx, 2, In)), "[{Source:1 Target:2 Kind:import Path:a.py Language:python}]"},
		{"co-changes", show(c.CoChanges(ctx, 2, 2)), "[{File:1 Path:a.py Count:2 Last:c2}]"},
		{"rarer", show(c.CoChanges(ctx, 2, 3)), "[]"},
		{"docstrings", show(c.Docstrings(ctx, 1)),
			"[{Symbol:0 File:1 Content:module Format:plain Fields:{}} {Symbol:1 File:1 Content:d Format:plain Fields:{}}]"},
		{"rationale", show(c.Rationale(ctx, 1)),
			"[{File:1 Symbol:0 Line:1 Content:because Kind:rationale Rationale:true}]"},
		{"commits", show(c.Commits(ctx, 1, 1)),
			"[{ID:3 Hash:c3 Author:Ada Message:move Time:2030-01-03T00:00:00Z Files:51 Insertions:<nil> Deletions:<nil>}]"},
		{"languages", show(c.LanguageCounts(ctx, repo)), "[{Name:python Count:2}]"},
		{"domains", show(c.DomainCounts(ctx, repo)), "[{Name:shop Count:1}]"},
		{"connected", show(c.MostConnected(ctx, repo, 1)), "[{Name:a.py Count:1}]"},
	} {
		if d := cmp.Diff(tc.want, tc.got); d != "" {
			t.Errorf("%s: %s", tc.what, d)
		}
	}
	if a, ok, err := c.AdapterForStage(ctx, "scope"); err != nil || !ok || a.Tag != "new" {
		t.Errorf("adapter %+v %v %v", a, ok, err)
	}
	if _, ok, err := c.AdapterForStage(ctx, "precision"); err != nil || ok {
		t.Errorf("a stage without an adapter: %v %v", ok, err)
	}
	if _, err := c.Neighbors(ctx, 1, "sideways"); err == nil {
		t.Error("an unknown direction was accepted")
	}
	if _, err := c.db.ExecContext(ctx, "DELETE FROM files"); err == nil {
		t.Error("a reader can write")
	}
}

// A file that is new in the index gets the earlier commits of its path. A commit that git lists again is ignored.
func TestCuratedAddsEarlierCommits(t *testing.T) {
	path, repo := filled(t)
	c, err := OpenCurated(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := tx.PutFile(t.Context(), repo,
		FileState{File: File{Path: "gone.py", Language: "python", Hash: "h", State: "parsed"}})
	if err != nil {
		t.Fatal(err)
	}
	known := Touched{Commit{Hash: "c2", Time: "2030-01-02T00:00:00Z", Files: 3}, []string{"a.py", "b.py", "gone.py"}, ""}
	if err := errors.Join(tx.AddHistory(t.Context(), repo, each(known), map[string]int64{"gone.py": id}, []int64{id}),
		tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	if x, err := c.CoChanges(t.Context(), id, 1); err != nil || len(x) != 2 || x[0].Count != 1 || x[0].Last != "c2" {
		t.Errorf("%+v, %v", x, err)
	}
	if x, err := c.Commits(t.Context(), id, 9); err != nil || len(x) != 1 || x[0].Hash != "c2" {
		t.Errorf("%+v, %v", x, err)
	}
}

// While one process indexes, a second one is refused with the reason.
func TestCuratedRefusesSecondWriter(t *testing.T) {
	path, _ := filled(t)
	open := func() *Curated {
		c, err := OpenCurated(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first, second := open(), open()
	tx, err := first.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.db.ExecContext(t.Context(), "PRAGMA busy_timeout = 10"); err != nil { // instead of 10 seconds
		t.Fatal(err)
	}
	if _, err := second.Begin(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("a second process indexes: %v", err)
	}
	tx.Rollback()
	if tx, err = second.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx.Rollback()
}

// A database that is newer, damaged or of another program is left unchanged.
func TestCuratedKeepsUnusableDatabase(t *testing.T) {
	if _, err := OpenCuratedReader(t.Context(), filepath.Join(t.TempDir(), "none.sqlite")); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	path, _ := filled(t)
	raw(t, path, "PRAGMA user_version = 99")
	if _, err := OpenCurated(t.Context(), path); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := OpenCuratedReader(t.Context(), path); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other.sqlite")
	raw(t, other, "CREATE TABLE mine (x)")
	if _, err := OpenCurated(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("somebody else's: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.sqlite")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCurated(t.Context(), text); !errors.Is(err, ErrCorrupt) {
		t.Errorf("no database: %v", err)
	}
}

func TestIndexRuns(t *testing.T) {
	j, err := OpenJournal(t.Context(), filepath.Join(t.TempDir(), "raw.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	want := []IndexRun{{Repo: "/r", Scanned: 2, Changed: 1, Duration: 3e6, Status: "failed: a.py:1", At: at(3)},
		{Repo: "/r", Status: "ok", At: at(3)}}
	for i := range want {
		if err := j.AddIndexRun(t.Context(), want[len(want)-1-i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := rowsBy(t.Context(), j.db, "index runs", func(rs *sql.Rows, r *IndexRun) error {
		return rs.Scan(&r.Repo, &r.Scanned, &r.Changed, millis{&r.Duration}, &r.Status, moment{&r.At})
	}, "SELECT repo_path, files_scanned, files_changed, duration_ms, status, timestamp FROM index_runs ORDER BY id DESC")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestManyTextsAreOnePartOfSearch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curated.sqlite")
	c, tx, s := begin(t, path)
	if err := tx.ManyTexts(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		id := tx.SymbolIDs(9)
		var symbols []Symbol
		for k := range int64(9) { // more than one statement of symbols for each file
			symbols = append(symbols, Symbol{ID: id + k, Name: "f", Kind: "function", Start: 1, End: 1})
		}
		name := fmt.Sprintf("f%d.py", i)
		file, err := tx.PutFile(t.Context(), s.ID, FileState{File: File{Path: name, Language: "python", Hash: "h"}})
		if err == nil {
			err = tx.PutContent(t.Context(), file, true, Content{Symbols: symbols})
		}
		if err == nil {
			err = tx.PutText(t.Context(), s.ID, Text{Path: name}, true, []Chunk{{Start: 1, End: 1, Name: name, Body: "word"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var segments, automerge int
	if err := c.db.QueryRow("SELECT COUNT(DISTINCT segid), (SELECT v FROM chunk_words_config WHERE k = 'automerge') "+
		"FROM chunk_words_idx").Scan(&segments, &automerge); err != nil {
		t.Fatal(err)
	}
	if segments != 1 || automerge != 4 {
		t.Errorf("%d segments, automerge %d; want one segment, and that later changes are merged", segments, automerge)
	}
}

func TestParentsFirst(t *testing.T) {
	var got []string
	for _, s := range parentsFirst([]Symbol{{ID: 1, Name: "method", Parent: 3}, {ID: 2, Name: "inner", Parent: 1},
		{ID: 3, Name: "class"}, {ID: 4, Name: "function"}}) {
		got = append(got, s.Name)
	}
	if d := cmp.Diff([]string{"class", "function", "method", "inner"}, got); d != "" {
		t.Errorf("parentsFirst (-want +got):\n%s", d)
	}
}
