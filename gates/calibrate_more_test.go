package gates

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/tools/tooltest"
)

func rubyHas(t *testing.T, lib string) {
	t.Helper()
	tooltest.Slow(t)
	if err := exec.CommandContext(t.Context(), "ruby", "-e", "require '"+lib+"'").Run(); err != nil {
		t.Skipf("NOT TESTED: %v; %s", err, "apt install ruby "+lib)
	}
}

var minitestProject = map[string]string{
	"Rakefile": "require 'rake/testtask'\nRake::TestTask.new(:test) { |t| t.libs << 'lib' << 'test'; t.pattern " +
		"= 'test/**/*_test.rb' }\n",
	"lib/calc.rb":    "module Calc\n  def self.add(a, b) = a + b\nend\n",
	"test/helper.rb": "require 'minitest/autorun'\nrequire 'calc'\n",
	"test/calc_test.rb": "require 'helper'\n\nclass CalcTest < Minitest::Test\n  def test_adds\n    assert_equal 3, " +
		"Calc.add(1, 2)\n  end\n\n  def test_later\n    skip\n  end\nend\n",
	"test/spec_test.rb": "require 'helper'\n\ndescribe Calc do\n  it 'adds zero' do\n    _(Calc.add(0, 0)).must_equal " +
		"0\n  end\nend\n",
}

func TestCalibratesMinitest(t *testing.T) {
	rubyHas(t, "minitest")
	needs(t, "rake")
	rep := sealed(t, tree(t, minitestProject), "tests:ruby")
	honest(t, rep, TestCount{Passed: 2, Skipped: 1})
	if status(rep, "CalcTest#test_adds") != testout.Passed || rep.Cases[0].Path == "" {
		t.Errorf("%+v", rep.Cases)
	}
	if status(rep, "Calc#test_adds zero") != testout.Passed {
		t.Errorf("a spec keeps the number of its place: %+v", rep.Cases)
	}
	red := with(minitestProject, map[string]string{"lib/calc.rb": "module Calc\n  def self.add(a, b) = a - b\nend\n"})
	rep = sealed(t, tree(t, red), "tests:ruby")
	honest(t, rep, TestCount{Passed: 1, Failed: 1, Skipped: 1})
	if !hasFinding(rep, ruleTest, "test/calc_test.rb", 5, "Expected: 3") {
		t.Errorf("%+v", rep.Findings)
	}
	plain := with(minitestProject, nil) // without rake
	delete(plain, "Rakefile")
	plain["Gemfile"] = "source 'https://rubygems.org'\n"
	honest(t, sealed(t, tree(t, plain), "tests:ruby"), TestCount{Passed: 2, Skipped: 1})
	alone := with(minitestProject, map[string]string{"test/helper.rb": "ENV['MT_NO_PLUGINS'] = '1'\n" +
		minitestProject["test/helper.rb"]})
	honest(t, sealed(t, tree(t, alone), "tests:ruby"), TestCount{Passed: 2, Skipped: 1})
}

func TestCalibrationCatchesMinitest(t *testing.T) {
	rubyHas(t, "minitest")
	needs(t, "rake")
	for name, c := range map[string]struct{ file, text, part string }{
		"assertions without effect": {"test/helper.rb", minitestProject["test/helper.rb"] +
			"class Minitest::Test\n  def assert_equal(*) = true\nend\n", "was reported as passed"},
		"results that are turned": {"test/helper.rb", minitestProject["test/helper.rb"] +
			"class Minitest::Test\n  def failures = []\nend\n", "was reported as passed"},
		"methods that are dropped": {"test/helper.rb", minitestProject["test/helper.rb"] +
			"Minitest::Test.singleton_class.prepend(Module.new { def runnable_methods = super.grep(/adds/) })\n", "not run"},
		"code that ends": {"lib/calc.rb", "exit!(0)\n", "without a report"},
		"a status that is wrong": {"test/helper.rb", minitestProject["test/helper.rb"] +
			"Minitest.after_run { exit!(0) }\n", "exited with status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			lying(t, sealed(t, tree(t, with(minitestProject, map[string]string{c.file: c.text})), "tests:ruby"), c.part)
		})
	}
}

var rspecProject = map[string]string{
	".rspec":              "--require spec_helper\n--format documentation\n",
	"lib/calc.rb":         "module Calc\n  def self.add(a, b) = a + b\nend\n",
	"spec/spec_helper.rb": "$LOAD_PATH.unshift File.expand_path('../lib', __dir__)\nrequire 'calc'\n",
	"spec/calc_spec.rb": "RSpec.describe Calc do\n  it 'adds' do\n    expect(Calc.add(1, 2)).to eq(3)\n  end\n\n  " +
		"xit 'is later' do\n  end\nend\n",
	"spec/deep/b_spec.rb": "RSpec.describe 'b' do\n  [1, 2].each do |n|\n    it \"doubles #{n}\" do\n      " +
		"expect(Calc.add(n, n)).to eq(2 * n)\n    end\n  end\nend\n",
	"spec/support/data.rb": "DATA_ONE = 1\n",
}

func TestCalibratesRSpec(t *testing.T) {
	rubyHas(t, "rspec")
	rep := sealed(t, tree(t, rspecProject), "tests:ruby")
	honest(t, rep, TestCount{Passed: 3, Skipped: 1})
	if status(rep, "b doubles 2") != testout.Passed || status(rep, "Calc is later") != testout.Skipped {
		t.Errorf("%+v", rep.Cases)
	}
	red := with(rspecProject, map[string]string{"lib/calc.rb": "module Calc\n  def self.add(a, b) = a - b\nend\n"})
	rep = sealed(t, tree(t, red), "tests:ruby")
	honest(t, rep, TestCount{Failed: 3, Skipped: 1})
	if !hasFinding(rep, ruleTest, "spec/calc_spec.rb", 3, "expected: 3") {
		t.Errorf("%+v", rep.Findings)
	}
	broken := with(rspecProject, map[string]string{"spec/c_spec.rb": "RSpec.describe Nothing do\nend\n"})
	rep = sealed(t, tree(t, broken), "tests:ruby")
	if rep.Status != Fail || !hasFinding(rep, RuleBuild, "spec/c_spec.rb", 0, "Nothing") {
		t.Errorf("%s %+v", rep.Status, rep.Findings)
	}
}

// withSyntax returns a project of RSpec whose specs are written with should, and settings of its expectations.
func withSyntax(settings string) map[string]string {
	return with(rspecProject, map[string]string{
		"spec/spec_helper.rb": rspecProject["spec/spec_helper.rb"] + "RSpec.configure { |c| c.expect_with(" + settings + " }\n",
		"spec/calc_spec.rb":   "describe Calc do\n  it 'adds' do\n    Calc.add(1, 2).should == 3\n  end\nend\n",
		"spec/deep/b_spec.rb": "describe 'b' do\n  it 'doubles' do\n    Calc.add(2, 2).should eq(4)\n  end\nend\n",
	})
}

func TestCalibratesEachSyntaxOfRSpec(t *testing.T) {
	rubyHas(t, "rspec")
	assertions := map[string]string{"spec/deep/b_spec.rb": "",
		"spec/calc_spec.rb": "describe Calc do\n  it('adds') { assert_equal 3, Calc.add(1, 2) }\n  it('exists') { assert Calc }\nend\n"}
	for name, project := range map[string]map[string]string{
		"should":            withSyntax(":rspec) { |e| e.syntax = :should }"),
		"should and expect": withSyntax(":rspec) { |e| e.syntax = [:should, :expect] }"),
		"minitest":          with(withSyntax(":minitest)"), assertions),
	} {
		t.Run(name, func(t *testing.T) {
			honest(t, sealed(t, tree(t, project), "tests:ruby"), TestCount{Passed: 2})
			if name == "minitest" {
				return
			}
			disarmed := project["spec/spec_helper.rb"] + "BasicObject.class_eval { def should(*) = ::Class.new { def ==(_) = true }.new }\n"
			lying(t, sealed(t, tree(t, with(project, map[string]string{"spec/spec_helper.rb": disarmed})), "tests:ruby"),
				"was reported as passed")
		})
	}
}

func TestCalibrationCatchesRSpec(t *testing.T) {
	rubyHas(t, "rspec")
	for name, c := range map[string]struct{ file, text, part string }{
		"matchers without effect": {"spec/spec_helper.rb", rspecProject["spec/spec_helper.rb"] +
			"require 'rspec/expectations'\nRSpec::Expectations::ExpectationTarget.class_eval { def to(*) = true }\n",
			"was reported as passed"},
		"examples that pass": {"spec/spec_helper.rb", rspecProject["spec/spec_helper.rb"] +
			"RSpec.configure { |c| c.around { |e| begin; e.run; ensure; e.example.instance_variable_set(:@exception, nil); " +
			"end } }\n", "was reported as passed"},
		"a process that ends": {"lib/calc.rb", "exit!(0)\n", "without a report"},
		"a status that is wrong": {"spec/spec_helper.rb", rspecProject["spec/spec_helper.rb"] +
			"RSpec.configure { |c| c.failure_exit_code = 0 }\n", "exited with status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			lying(t, sealed(t, tree(t, with(rspecProject, map[string]string{c.file: c.text})), "tests:ruby"), c.part)
		})
	}
}

const debianMaven = "/usr/share/maven-repo"

// withMaven adds a wrapper to a project that runs Maven offline with the packages of Debian.
func withMaven(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ls", debianMaven+"/org/junit/jupiter/junit-jupiter/5.9.2",
		debianMaven+"/org/apache/maven/surefire/surefire-junit-platform").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: %v; %s", err, "apt install maven maven-debian-helper junit5 libsurefire-java: "+string(out))
	}
	return with(files,
		map[string]string{"mvnw!": "#!/bin/sh\nexec mvn -o -s /etc/maven/settings-debian.xml -Dmaven.repo.local=" +
			debianMaven + " \"$@\"\n"})
}

var mavenProject = map[string]string{
	"pom.xml": `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>calc</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.9.2</version><scope>test</scope></dependency>
  </dependencies>
</project>
`,
	".gitignore": "target/\n",
	"src/main/java/calc/Calc.java": "package calc;\n\npublic class Calc {\n    public static int add(int a, int b) " +
		"{ return a + b; }\n}\n",
	"src/test/java/calc/CalcTest.java": "package calc;\n\nimport static " +
		"org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Disabled;\nimport " +
		"org.junit.jupiter.api.Test;\n\nclass CalcTest {\n    @Test\n    void adds() {\n        assertEquals(3, " +
		"Calc.add(1, 2));\n    }\n\n    @Test @Disabled\n    void later() {}\n}\n",
}

func TestCalibratesMaven(t *testing.T) {
	files := withMaven(t, mavenProject)
	rep := mavenSealed(t, files)
	honest(t, rep, TestCount{Passed: 1, Skipped: 1})
	if status(rep, "adds") != testout.Passed || rep.Cases[0].Path != "src/test/java/calc/CalcTest.java" {
		t.Errorf("%+v", rep.Cases)
	}
	files["src/main/java/calc/Calc.java"] = "package calc;\n\npublic class Calc {\n    public static int add(int a, int " +
		"b) { return a - b; }\n}\n"
	rep = mavenSealed(t, files)
	honest(t, rep, TestCount{Failed: 1, Skipped: 1})
	if !hasFinding(rep, ruleTest, "src/test/java/calc/CalcTest.java", 11, "expected: <3>") {
		t.Errorf("%+v", rep.Findings)
	}
	files["src/main/java/calc/Calc.java"] = "package calc;\n\npublic class Calc {\n    static { " +
		"Runtime.getRuntime().halt(0); }\n    public static int add(int a, int b) { return a - b; }\n}\n"
	if rep = mavenSealed(t, files); rep.Status == Pass { // where the planted class runs first, it is the only one
		t.Errorf("code that ends the process: %s %+v", rep.Status, rep.Proof)
	}
}

// mavenSealed works like [sealed] for a tree in which the build leaves its output.
func mavenSealed(t *testing.T, files map[string]string) Report {
	t.Helper()
	dir := tree(t, files)
	rep, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:java").Check(t.Context(),
		Subject{Dir: dir, Sealed: true, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if left := listing(t, dir+"/src"); strings.Contains(left, "Xq") {
		t.Errorf("planted tests were left in the tree:\n%s", left)
	}
	return rep
}

func TestMavenWithoutPackagesReturnsError(t *testing.T) {
	files := withMaven(t, mavenProject)
	files["pom.xml"] = strings.Replace(files["pom.xml"], "5.9.2", "5.99.0", 1)
	dir := tree(t, files)
	_, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:java").Check(t.Context(),
		Subject{Dir: dir, Sealed: true})
	if err == nil || !strings.Contains(err.Error(), "Maven could not get") {
		t.Errorf("%v", err)
	}
}

var bunProject = map[string]string{
	"package.json": `{"scripts":{"test":"bun test"}}`, "bun.lock": "",
	"calc.ts": "export const add = (a: number, b: number) => a + b;\n",
	"calc.test.ts": "import { test, expect, describe } from 'bun:test';\nimport { add } from " +
		"'./calc';\n\ndescribe('calc', () => {\n  test('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  " +
		"});\n});\ntest.skip('later', () => {});\n",
}

func TestCalibratesBun(t *testing.T) {
	bun, err := exec.LookPath("bun")
	if err != nil {
		t.Skipf("NOT TESTED: %v; %s", err, "npm install --global bun")
	}
	_ = bun
	rep := sealed(t, tree(t, bunProject), "tests:node")
	honest(t, rep, TestCount{Passed: 1, Skipped: 1})
	if status(rep, "calc > adds") != testout.Passed {
		t.Errorf("%+v", rep.Cases)
	}
	red := with(bunProject, map[string]string{"calc.ts": "export const add = (a: number, b: number) => a - b;\n"})
	honest(t, sealed(t, tree(t, red), "tests:node"), TestCount{Failed: 1, Skipped: 1})
	lying(t,
		sealed(t,
			tree(t, with(bunProject,
				map[string]string{"calc.ts": "process.exit(0);\nexport const add = (a: number, b: number) => a - b;\n"})),
			"tests:node"), "")
}
