package lessons

import (
	"fmt"
	"io/fs"
	"strings"
)

// Summary returns the overview of a library: [SummaryFile] with the table and the clusters of these lessons.
func Summary(lib *Library) (string, error) {
	text, err := fs.ReadFile(BuiltIn().FS, SummaryFile)
	if err != nil {
		return "", fmt.Errorf("read the summary: %w", err)
	}
	return fillSummary(string(text), lib)
}

// fillSummary inserts the generated text between its marks.
func fillSummary(text string, lib *Library) (string, error) {
	for _, part := range []struct{ name, text string }{
		{"table", referenceTable(lib)},
		{"silent-failures", strings.Join(lib.category("silent-failures"), ", ")},
		{"integration-boundaries", strings.Join(lib.category("integration-boundaries"), ", ")},
	} {
		begin, end := "<!-- begin: "+part.name+" -->\n", "<!-- end: "+part.name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", fmt.Errorf("%s has no marks for %q", SummaryFile, part.name)
		}
		text = before + begin + strings.TrimSpace(part.text) + "\n" + end + after
	}
	return text, nil
}

func referenceTable(lib *Library) string {
	var b strings.Builder
	b.WriteString("| ID | Lesson | Type | Severity | Category | Languages |\n|---|---|---|---|---|---|\n")
	for _, l := range lib.Lessons {
		title := strings.ReplaceAll(l.Title, "|", "\\|")
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", l.ID, title, l.Pattern.Type, l.Severity, l.Category,
			strings.Join(l.Languages, ", "))
	}
	return b.String()
}
