package gates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates/testout"
)

// mavenLike is a fake build. It runs the tests of each class whose file name matches, in the way that the classes here
// are written: a method fails if its line, or the lines up to the next method, raise an AssertionError.
const mavenLike = `#!/bin/bash
echo "$*" >>called
status=0
[ -e quiet ] && { cat quiet; exit 0; }
while read -r f; do
  class=$(basename "${f%.*}"); out=${f%/src/*}; [ "$out" = "$f" ] && out=.
  mkdir -p "$out/REPORTS"
  awk -v class="$class" '
    /(public )?(void|fun) [a-zA-Z0-9_]+\(\)/ { sub(/\(\).*/, ""); name = $NF; names[++n] = name }
    /AssertionError/ { bad[name] = 1 }
    END { print "<testsuite>"
      for (i = 1; i <= n; i++) { printf "<testcase classname=\"calc.%s\" name=\"%s()\">", class, names[i]
        if (bad[names[i]]) { failed = 1
          printf "<failure message=\"expected 3\">expected 3\n\tat calc.%s.%s(%s.java:5)</failure>", class, names[i], class }
        print "</testcase>" }
      print "</testsuite>"; exit failed }' "$f" >"$out/REPORTS/TEST-$class.xml" || status=1
done < <(find . -path '*/src/test/*' -name '*Test.*' | sort)
case "$*" in *failure.ignore=true*) status=0;; esac
exit $status
`

func javaTest(class, imports, body string) string {
	return "package calc;\n\n" + imports + "\n\npublic class " + class + " {\n    @Test\n    public void adds() {\n" +
		body +
		"    }\n}\n"
}

const (
	jupiter = "import org.junit.jupiter.api.Test;"
	four    = "import org.junit.Test;"
	raises  = "        throw new AssertionError(\"expected 3\");\n"
)

// Maven and Gradle are calibrated by a class of planted tests in each folder of tests: for JUnit 4, 5 and kotlin.test.
func TestCalibratesBuildsOfJava(t *testing.T) {
	needs(t, "bash")
	needs(t, "awk")
	maven := func(files map[string]string) map[string]string {
		return with(files, map[string]string{"pom.xml": "<project/>", "mvnw!": strings.ReplaceAll(mavenLike, "REPORTS",
			"target/surefire-reports")})
	}
	gradle := func(files map[string]string) map[string]string {
		return with(files, map[string]string{"build.gradle.kts": "", "gradlew!": strings.ReplaceAll(mavenLike, "REPORTS",
			"build/test-results/test")})
	}
	const one = "src/test/java/calc/ATest.java"
	for name, c := range map[string]struct {
		files       map[string]string
		status      Status
		calibration Calibration
		why         string
		count       TestCount
		called      string // the last call
	}{
		"JUnit 5 with Maven": {maven(map[string]string{one: javaTest("ATest", jupiter, "")}), Pass, Calibrated, "",
			TestCount{Passed: 1}, "-B test"},
		"a failure": {maven(map[string]string{one: javaTest("ATest", jupiter, raises)}), Fail, Calibrated, "",
			TestCount{Failed: 1}, "-B test"},
		"JUnit 4 with Gradle": {gradle(map[string]string{one: javaTest("ATest", four, "")}), Pass, Calibrated, "",
			TestCount{Passed: 1}, "test --console=plain --no-build-cache --continue"},
		"Kotlin": {gradle(map[string]string{"src/test/kotlin/calc/ATest.kt": "package calc\n\nimport " +
			"kotlin.test.Test\n\nclass ATest {\n    @Test\n    fun adds() {}\n}\n"}),
			Pass, Calibrated, "", TestCount{Passed: 1}, "test --console=plain --no-build-cache --continue"},
		"two folders": {maven(map[string]string{one: javaTest("ATest", jupiter, ""),
			"src/test/java/calc/BTest.java":      javaTest("BTest", jupiter, ""),
			"src/test/java/calc/deep/CTest.java": javaTest("CTest", "import static org.junit.Assert.fail;", "")}), Pass,
			Calibrated, "",
			TestCount{Passed: 3}, "-B test"},
		"modules": {with(maven(map[string]string{"m/" + one: javaTest("ATest", jupiter, "")}),
			map[string]string{"pom.xml": "<modules><module>m</module></modules>"}),
			Pass, Calibrated, "", TestCount{Passed: 1}, "-B test"},
		"modules, a failure": {with(maven(map[string]string{"m/" + one: javaTest("ATest", jupiter, raises)}),
			map[string]string{"pom.xml": "<modules><module>m</module></modules>"}),
			Fail, Calibrated, "", TestCount{Failed: 1}, "-B test -Dmaven.test.failure.ignore=true"},
		"a limit of coverage": {with(gradle(map[string]string{one: javaTest("ATest", jupiter, "")}),
			map[string]string{"build.gradle.kts": "jacocoTestCoverageVerification"}),
			Pass, Calibrated, "", TestCount{Passed: 1}, "test --console=plain --no-build-cache"},
		"another library": {maven(map[string]string{one: javaTest("ATest", "import org.testng.Test;", "")}), Pass,
			Uncalibrated,
			"no test is written for JUnit 4, JUnit 5 or kotlin.test", TestCount{Passed: 1}, "-B test"},
		"a name that the build may not " +
			"find": {maven(map[string]string{"src/test/java/calc/AddTestHelper.java": javaTest("AddTestHelper", jupiter, ""),
			one: javaTest("ATest", "import org.testng.Test;", "")}), Pass, Uncalibrated, "no test is written for",
			TestCount{Passed: 1}, "-B test"},
		"a build that ends": {maven(map[string]string{one: javaTest("ATest", jupiter, ""), "quiet": "BUILD SUCCESS\n"}),
			Fail, Uncalibrated,
			"exited with status 0 without a report", TestCount{}, "-B test"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			before := listing(t, dir)
			rep, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:java").Check(t.Context(),
				Subject{Dir: dir, Sealed: true, LogDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if rep.Status != c.status || rep.Proof.Calibration != c.calibration || !strings.Contains(rep.Proof.Why, c.why) ||
				(c.count != TestCount{}) && (rep.Tests == nil || *rep.Tests != c.count) {
				t.Errorf("%s %+v %+v %+v\n%s", rep.Status, rep.Proof, rep.Tests, rep.Findings, rep.Output)
			}
			for _, one := range rep.Cases {
				if one.Name != "adds" || !strings.HasSuffix(one.Path, "Test.java") && !strings.HasSuffix(one.Path, "Test.kt") {
					t.Errorf("case %+v", one)
				}
			}
			if c.count.Failed > 0 && !hasFinding(rep, ruleTest, rep.Cases[0].Path, 5, "expected 3") {
				t.Errorf("%+v", rep.Findings)
			}
			called, _ := os.ReadFile(filepath.Join(dir, "called"))
			lines := strings.Split(strings.TrimSpace(string(called)), "\n")
			if lines[len(lines)-1] != c.called {
				t.Errorf("called with %q", lines)
			}
			_ = os.Remove(filepath.Join(dir, "called"))
			if after := listing(t, dir); after != before {
				t.Errorf("left in the tree:\n%s", after)
			}
		})
	}
}

// Planted tests that the build may omit by its settings prove nothing if they do not run.
func TestBuildThatSelectsTests(t *testing.T) {
	for config, unsure := range map[string]bool{"<includes><include>x</include></includes>": true,
		"<excludedGroups>slow</excludedGroups>": true,
		"<dependencies/>":                       false} {
		p := Project{LangJava, ".", "pom.xml"}
		dir := tree(t, map[string]string{"pom.xml": config, "src/test/java/ATest.java": javaTest("ATest", jupiter, "")})
		w, b := &Look{subject: Subject{Dir: dir}}, &bed{word: "qabc"}
		if err := plantJVM(p, []string{"src/test/java/ATest.java"}, true)(w, &testRun{}, b); err != nil ||
			len(b.plants) != 1 {
			t.Fatal(err, b.plants)
		}
		planted := b.plants[0]
		if (planted.unsure != "") != unsure || planted.place != "src/test/java" ||
			!planted.like(testout.Case{Path: "src/test/java/BTest.java"}) ||
			planted.like(testout.Case{Path: "src/test/java/B.java"}) ||
			planted.like(testout.Case{Path: "src/test/java/deep/BTest.java"}) || planted.like(testout.Case{}) {
			t.Errorf("%s: %+v", config, planted)
		}
		b.clear()
	}
}

// Only reports of this run count, in any folder that the build may write to.
func TestReportsOfJava(t *testing.T) {
	report := `<testsuite><testcase classname="calc.ATest$Inner" name="adds()"/>` +
		`<testcase classname="calc.BTest" name="subs()">` +
		`<failure message="no">no</failure></testcase></testsuite>`
	dir := tree(t, map[string]string{"m/target/surefire-reports/TEST-a.xml": report,
		"target/surefire-reports/TEST-old.xml":       report,
		".hidden/target/surefire-reports/TEST-a.xml": report, "node_modules/x/target/surefire-reports/TEST-a.xml": report,
		"target/surefire-reports/TEST-broken.xml": "<test", "target/other/TEST-a.xml": report})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "target/surefire-reports/TEST-old.xml"), old, old); err != nil {
		t.Fatal(err)
	}
	for _, isSealed := range []bool{false, true} {
		w := &Look{subject: Subject{Dir: dir, Sealed: isSealed}}
		got := jvmReports(w, Project{LangJava, ".", "pom.xml"}, []string{"src/test/java/calc/ATest.java",
			"src/test/java/calc/BTest.java"},
			time.Now().Add(-time.Minute), ran{text: "[ERROR] /x/A.java:[3,4] cannot find symbol\n"})
		if got.Passed != 1 || got.Failed != 1 || got.Cases[0].Path != "src/test/java/calc/ATest.java" ||
			got.Cases[1].Name != "subs" ||
			len(got.Failures) == 0 || got.Failures[0].Path != "src/test/java/calc/BTest.java" ||
			!strings.HasSuffix(got.Failures[0].Name, "subs") {
			t.Errorf("%+v", got)
		}
		if _, err := os.Stat(filepath.Join(dir, "m/target/surefire-reports/TEST-a.xml")); (err == nil) == isSealed {
			t.Errorf("sealed %v: the report was removed: %v", isSealed, err)
		}
	}
}
