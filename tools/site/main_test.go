package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documents render without a dead link, and no page loads anything from the network (SITE-01).
func TestSitePagesLoadOnlyLocalFiles(t *testing.T) {
	out := t.TempDir()
	if err := build(filepath.Join("..", "..", "docs"), out); err != nil {
		t.Fatal(err)
	}
	loaded := regexp.MustCompile(`(?:<script src|<link rel="stylesheet" href|<img src)="([^"]*)"`)
	pages, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range loaded.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s loads %s: %v", filepath.Base(page), m[1], err)
			}
		}
	}
	list, err := os.ReadFile(filepath.Join(out, "llms.txt"))
	if err != nil || strings.Count(string(list), "\n- [") != len(pages)-1 { // index.html is the tutorial
		t.Errorf("llms.txt: %v: %s", err, list)
	}
}

// A link to a document or a heading that does not exist is an error (SITE-01).
func TestDeadLinkFailsBuild(t *testing.T) {
	for link, dead := range map[string]bool{
		"tutorial.md": false, "tutorial.md#a-part": false, "#a-part": false, "https://example.org/": false,
		"gone.md": true, "tutorial.md#gone": true, "#gone": true, "../gone/": true,
	} {
		from := t.TempDir()
		text := "# First\n\nSee [it](" + link + ").\n\n## A part\n"
		if err := os.WriteFile(filepath.Join(from, "tutorial.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := build(from, t.TempDir()); (err != nil) != dead {
			t.Errorf("%s: %v", link, err)
		}
	}
}
