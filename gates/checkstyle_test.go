package gates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The Checkstyle plugins of Maven and Gradle name places in these forms.
func TestReadsCheckstyle(t *testing.T) {
	dir := tree(t, map[string]string{"src/A.java": "", "pom.xml": ""})
	w := &Look{subject: Subject{Dir: dir}}
	read := readLines(checkstylePlace, Finding{Rule: "checkstyle", Severity: Warning})
	got, err := read(w, Project{LangJava, ".", "pom.xml"},
		ran{text: "[INFO] There is 1 error\n[ERROR] src/A.java:[3,5] (whitespace) NoWhitespaceAfter: no space\n" +
			"[WARN] " + dir +
			"/src/A.java:7:2: Missing a Javadoc comment. [MissingJavadocMethod]\n[ant:checkstyle] [ERROR] " + dir +
			"/src/A.java:9: Line is too long. [LineLength]\n[ERROR] Failed to execute goal: You have 1 " +
			"Checkstyle violation.\n"})
	want := []Finding{
		{Rule: "NoWhitespaceAfter", Severity: Error, Path: "src/A.java", Line: 3, Col: 5, Message: "no space"},
		{Rule: "MissingJavadocMethod", Severity: Warning, Path: "src/A.java", Line: 7, Col: 2,
			Message: "Missing a Javadoc comment."},
		{Rule: "LineLength", Severity: Error, Path: "src/A.java", Line: 9, Message: "Line is too long."},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
