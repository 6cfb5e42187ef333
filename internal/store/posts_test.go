package store

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every process that opens the journal sees the posts to a run, in order, and no statement changes them.
func TestPosts(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	j, err := OpenJournal(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, run := range []string{"one", "two"} {
		if err := j.AddRun(ctx, Run{ID: run, Slug: run, Plan: "p.md", PlanText: []byte("# P\n"), Started: at}); err != nil {
			t.Fatal(err)
		}
	}
	other, err := OpenExistingJournal(ctx, path) // another process
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var ids []int64
	for _, p := range []Post{{Run: "one", At: at, Body: []byte(`{"a":1}`)}, {Run: "two", At: at, Body: []byte(`{}`)},
		{Run: "one", At: at, Body: []byte(`{"a":2}`)}} {
		id, err := other.AddPost(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	got, err := j.Posts(ctx, "one", 0)
	if err != nil || len(got) != 2 || string(got[0].Body) != `{"a":1}` || got[1].ID != ids[2] || !got[0].At.Equal(at) {
		t.Errorf("posts are %+v, %v", got, err)
	}
	if got, err := j.Posts(ctx, "one", ids[0]); err != nil || len(got) != 1 {
		t.Errorf("after the first there are %+v, %v", got, err)
	}
	for _, query := range []string{"UPDATE posts SET body = ''", "DELETE FROM posts"} {
		if _, err := j.db.Exec(query); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := j.AddPost(ctx, Post{Run: "three", At: at, Body: []byte("{}")}); err == nil {
		t.Error("a missing run accepts posts")
	}
	j.Close()
}
