package report

import (
	"regexp"
	"testing"
)

// Foreign text is escaped, so each < in a page starts a tag of the page itself.
var (
	tags    = regexp.MustCompile(`(?s)<[A-Za-z!][^>]*>`)
	styles  = regexp.MustCompile(`(?s)<style>.*?</style>`)
	loading = regexp.MustCompile(`(?i)\s(?:src|srcset|href|xlink:href|action|formaction|poster|data|background)\s*=\s*["']?\s*[^"'#\s>]` +
		`|url\(\s*["']?\s*[^"'#\s)]|^<(?:link|script|iframe|frame|object|embed|img|image|audio|video|base|form)\b|http-equiv`)
	importing = regexp.MustCompile(`(?i)@import|@font-face|url\(\s*["']?\s*[^"'#\s)]`)
)

// requests returns the first part of a page that makes a browser load something or leave the page.
func requests(page string) string {
	for _, tag := range tags.FindAllString(page, -1) {
		if loading.MatchString(tag) {
			return tag
		}
	}
	for _, style := range styles.FindAllString(page, -1) {
		if s := importing.FindString(style); s != "" {
			return s
		}
	}
	return ""
}

// The report is a self-contained file: no text from plans, agents or tools makes a browser load anything.
func TestReportLoadsNothing(t *testing.T) {
	for text, want := range map[string]bool{
		`<a href="#batch-1">`: false, `<path marker-end="url(#tip)"/>`: false,
		`<svg xmlns="http://www.w3.org/2000/svg">`: false,
		`a.src=b url(x)`: false, `<link rel="stylesheet" href="x">`: true, `<img src=x>`: true,
		`<style>@import "x"</style>`:        true,
		`<p style="background:url(x.png)">`: true, `<a href="https://example.org">`: true,
		`<meta http-equiv="refresh">`: true,
	} {
		if got := requests(text) != ""; got != want {
			t.Errorf("%s: loads other files: %v, want %v", text, got, want)
		}
	}
	s, events := example(t)
	page, err := pageOf(s, events)
	if err != nil {
		t.Fatal(err)
	}
	if found := requests(page); found != "" {
		t.Errorf("the report asks for something: %s", found)
	}
	events = team(t)
	if page, err = pageOf(fold(t, events), events); err != nil {
		t.Fatal(err)
	}
	if found := requests(page); found != "" {
		t.Errorf("the report of a team asks for something: %s", found)
	}
}
