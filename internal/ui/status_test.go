package ui

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestStatusFitsAndClears(t *testing.T) {
	var out strings.Builder
	s := newStatus(&out, func() int { return 20 }, nil)
	s.draw("")
	if out.Len() > 0 {
		t.Errorf("an empty line was drawn: %q", out.String())
	}
	s.draw("now: tests:go 12s, lint:go 3s\x1b[31m")
	if got, want := out.String(), "\r\x1b[2Know: tests:go 12s,…"; got != want {
		t.Errorf("drew %q, want %q", got, want)
	}
	out.Reset()
	s.draw("")
	if got := out.String(); got != "\r\x1b[2K" {
		t.Errorf("the end left %q", got)
	}
}

func TestStatusRequiresTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s := ShowStatus(os.LookupEnv, nil, f, func(time.Time) string { return "x" }); s != nil {
		t.Error("a file got a status line")
	}
}

type narrowWriter struct {
	strings.Builder
	columns int
}

func (w *narrowWriter) Columns() int { return w.columns }

// A table with more columns than a narrow terminal can show has a line for each cell.
func TestTableWithManyColumnsFitsTerminal(t *testing.T) {
	w := &narrowWriter{columns: 40}
	rows := [][]string{{"0001", "blocker", "syntactic", "silent-failures", "Exceptions are dropped"},
		{"0002", "", "semantic", "data", "Dates without a zone"}}
	if err := Table(w, []string{"id", "severity", "type", "category", "title"}, rows); err != nil {
		t.Fatal(err)
	}
	want := `id        0001
severity  blocker
type      syntactic
category  silent-failures
title     Exceptions are dropped

id        0002
type      semantic
category  data
title     Dates without a zone
`
	if got := w.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableFitsTerminal(t *testing.T) {
	w := &narrowWriter{columns: 40}
	rows := [][]string{{"patterns", "skipped", "install ast-grep for structural analysis of this tree"},
		{"tests", "pass", ""}}
	if err := Table(w, []string{"gate", "status", "note"}, rows); err != nil {
		t.Fatal(err)
	}
	want := `gate      status   note
patterns  skipped  install ast-grep for
                   structural analysis
                   of this tree
tests     pass
`
	if got := w.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	w = &narrowWriter{}
	if err := Table(w, nil, rows); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.String(), "\n"); n != 2 {
		t.Errorf("without a terminal the rows took %d lines", n)
	}
}
