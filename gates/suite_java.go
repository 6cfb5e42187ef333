package gates

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/planted"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	jvmTestDir = lazyre.New(`(?:^|/)src/(\w*[tT]est)(?:/|$)`)
	jvmTest    = lazyre.New(`^(\w+)\.(java|kt|groovy|scala)$`)
	jvmReport  = lazyre.New(`(?:^|/)(?:target/surefire-reports|build/test-results/[^/]+)/TEST-[^/]+\.xml$`)
)

// javaSuite runs Maven or Gradle, by the wrapper if the project has one.
func javaSuite(dir string, p Project) []suite {
	var files []string // in folders of tests
	plain := false
	for rel, name := range filesOf(dir, p, nil) {
		if m := jvmTestDir.FindStringSubmatch(rel); m != nil {
			plain = plain || m[1] == "test"
			if jvmTest.MatchString(name) {
				files = append(files, path.Join(rel, name))
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	maven := path.Base(p.Marker) == "pom.xml"
	args, tool := []string{"gradle", "test", "--console=plain", "--no-build-cache"}, gradleTool(dir, p, p.Marker)
	if !plain {
		args[1] = "allTests" // a Kotlin build for several platforms
	}
	if maven {
		args, tool = []string{"mvn", "-B", "test"}, mavenTool(dir, p, p.Marker)
	}
	if len(tool.Own) > 0 {
		args[0], tool.Config = "./"+tool.Name, ""
	}
	tools := []Tool{javaTool(), tool}
	plan := func(_ context.Context, w *Look) ([]testRun, error) {
		began := time.Now().Add(-2 * time.Second) // some file systems store only seconds
		return []testRun{{
			program: program{args: slices.Clone(args), dir: p.Root},
			read:    func(r ran) testout.Result { return jvmReports(w, p, files, began, r) },
			plant:   plantJVM(p, files, maven),
		}}, nil
	}
	return []suite{{project: p, command: commandLine(p.Root, args), tools: tools, plan: plan}}
}

// jvmReports reads the reports that surefire and Gradle wrote since began, and removes them so that no later run reads
// them again. It places their tests in the files of the tree. Without a report it reads the text output.
func jvmReports(w *Look, p Project, files []string, began time.Time, r ran) testout.Result {
	text := testout.Text(r.text)
	root := filepath.Join(w.subject.Dir, filepath.FromSlash(p.Root))
	var sum testout.Result
	found := false
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // a folder that cannot be read holds no report
		}
		if d.IsDir() {
			if name := d.Name(); at != root && (strings.HasPrefix(name, ".") || language.Installed(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !jvmReport.MatchString(filepath.ToSlash(at)) {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.ModTime().Before(began) {
			return nil
		}
		in, err := os.Open(at)
		if err != nil {
			return nil
		}
		one, err := testout.JUnit(in)
		in.Close()
		if err != nil {
			return nil
		}
		if w.subject.Sealed {
			_ = os.Remove(at)
		}
		sum, found = sum.Add(one), true
		return nil
	})
	if !found {
		return text
	}
	at := map[string]string{} // file of a class, by its name without the package
	for _, f := range files {
		m := jvmTest.FindStringSubmatch(path.Base(f))
		at[m[1]] = f
	}
	place := func(class string) string {
		class, _, _ = strings.Cut(class[strings.LastIndexByte(class, '.')+1:], "$")
		return at[class]
	}
	for i := range sum.Cases {
		c := &sum.Cases[i]
		c.Name, c.Path = strings.TrimSuffix(c.Name, "()"), place(c.Group)
	}
	for i := range sum.Failures {
		f := &sum.Failures[i]
		f.Name = strings.TrimSuffix(f.Name, "()")
		if i := strings.LastIndexByte(f.Name, '.'); i >= 0 && f.Path == "" {
			f.Path = place(f.Name[:i])
		}
	}
	for _, f := range text.Failures {
		if f.Build {
			sum.Failures = append(sum.Failures, f)
		}
	}
	return sum
}

var (
	jvmPackage = lazyre.New(`(?m)^\s*package\s+([\w.]+)`)
	jvmJupiter = lazyre.New(`(?m)^\s*import\s+(?:static\s+)?org\.junit\.jupiter\.`)
	jvmFour    = lazyre.New(`(?m)^\s*import\s+(?:static\s+)?org\.junit\.(?:Test|Assert|Before|Rule)\b`)
	jvmKotlin  = lazyre.New(`(?m)^\s*import\s+kotlin\.test\.`)
	jvmPicks   = lazyre.New(`<(?:includes?|excludes?|groups|excludedGroups|testFailureIgnore|suiteXmlFile)>|(?:include|exclude)(?:Tags|Engines|TestsMatching)|filter\s*\{|\binclude\s*\(?['"]`)
	jvmModules = lazyre.New(`<modules>`)
	jvmChecks  = lazyre.New(`jacocoTestCoverageVerification|afterSuite|failOnPassedAfterRetry`)
	junitName  = lazyre.New(`^Test\w*$|^\w+(?:Test|Tests|TestCase)$`)
)

// plantJVM plants a class of tests in each folder of tests that are written for JUnit 4, JUnit 5 or kotlin.test.
func plantJVM(p Project, files []string, maven bool) recipe {
	return func(w *Look, r *testRun, b *bed) error {
		config := ""
		for rel, name := range filesOf(w.subject.Dir, p, nil) {
			if name == "pom.xml" || strings.HasSuffix(name, ".gradle") || strings.HasSuffix(name, ".gradle.kts") ||
				name == "junit-platform.properties" {
				config += readText(w.subject.Dir, path.Join(p.Root, rel), name) + "\n"
			}
		}
		unsure := ""
		if jvmPicks.MatchString(config) {
			unsure = "the build selects tests and omits the planted ones"
		}
		planted := map[string]bool{}
		for _, file := range files {
			folder, ext := path.Dir(file), path.Ext(file)
			if len(b.plants) == maxPlanted {
				break
			}
			text := readText(w.subject.Dir, path.Join(p.Root, folder), path.Base(file))
			name := strings.TrimSuffix(path.Base(file), ext)
			if planted[folder] || !junitName.MatchString(name) || ext != ".java" && ext != ".kt" {
				continue
			}
			from := ""
			switch {
			case jvmJupiter.MatchString(text):
				from = "org.junit.jupiter.api."
			case jvmFour.MatchString(text):
				from = "org.junit."
			case ext == ".kt" && jvmKotlin.MatchString(text):
				from = "kotlin.test."
			default:
				continue
			}
			pkg := ""
			if m := jvmPackage.FindStringSubmatch(text); m != nil {
				pkg = "package " + m[1]
			}
			planted[folder] = true
			fail, pass := b.pair("")
			class := fmt.Sprintf("X%s%dTest", b.word, len(b.plants))
			file := path.Join(p.Root, folder, class+ext)
			if err := b.sow(w, file, jvmPair(ext, pkg, from, class, fail, pass, b.word)); err != nil {
				return err
			}
			b.plants = append(b.plants, plant{
				place: path.Join(p.Root, folder), fail: fail, pass: pass, unsure: unsure,
				like: func(c testout.Case) bool {
					return c.Path != "" && path.Dir(c.Path) == folder &&
						junitName.MatchString(strings.TrimSuffix(path.Base(c.Path), ext))
				},
			})
		}
		if len(b.plants) == 0 {
			b.why = "no test is written for JUnit 4, JUnit 5 or kotlin.test"
			return nil
		}
		r.shown, r.exact = slices.Clone(r.args), true
		b.masks = jvmChecks.MatchString(config)
		switch {
		case !maven:
			r.args = append(r.args, "--continue")
		case jvmModules.MatchString(config): // a failed module would prevent the tests of later modules
			r.args = append(r.args, "-Dmaven.test.failure.ignore=true")
			b.ignores, b.masks = true, true
		}
		return nil
	}
}

// jvmPair returns the text of planted tests. The failing one passes if an assertion that must fail does not.
func jvmPair(ext, pkg, from, class, fail, pass, word string) string {
	asserts := map[string]string{"org.junit.jupiter.api.": from + "Assertions.", "org.junit.": from + "Assert.",
		"kotlin.test.": from}[from]
	if ext == ".java" && pkg != "" {
		pkg += ";"
	}
	return planted.Text("junit"+ext, "PACKAGE", pkg, "CLASS", class, "@", "@"+from, "ASSERT.", asserts, "FAIL", fail,
		"PASS", pass, "WORD", word)
}
