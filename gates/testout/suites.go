package testout

import (
	"cmp"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var (
	exampleSum = lazyre.New(`^(\d+) examples?, (\d+) failures?(.*)$`)
	exampleBad = lazyre.New(`^(?:rspec|shellspec) (?:\./)?(\S+):(\d+) # (?:\d+\) )?(.+?)(?: FAILED)?$`)
	exampleOut = lazyre.New(`^An error occurred (?:while loading|in an?) (?:\./)?(\S+?)\.?$`)
	miniSum    = lazyre.New(`^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) (?:skips|pendings)(?:, (\d+) omissions)?`)
	miniBad    = lazyre.New(`^\s*(\d+\) )?(?:Failure|Error):$`) // reporters and Rails give no number
	miniAt     = lazyre.New(`^(\S.*?)(?: \[(.+):(\d+)\]:?|:)\s*$`)
	unitBad    = lazyre.New(`^(?:Failure|Error): (\S.*?)\(([\w:]+(?:::[^()]+)?)\)(?::(?: (\S.*))?)?$`)
	unitAt     = lazyre.New(`^(/?\S+\.rb):(\d+):in `)
	unitCode   = lazyre.New(`^\s*(?:=>)?\s*\d+:(?: |$)`)
	rubyAbsent = lazyre.New(`: (cannot load such file -- \S+ \(LoadError\))$`)
	rubyBroken = lazyre.New(`^(\S+\.rb):(\d+): (?:.*\((SyntaxError)\)|(?:syntax error, |.*: )(unexpected .+))$`)

	shunitRan  = lazyre.New(`^Ran (\d+) tests?\.$`)
	shunitCase = lazyre.New(`^(test\w*)$`)
	shunitBad  = lazyre.New(`^(?:ASSERT:|shunit2:ERROR|FAIL:)\s*(.*)$`)
	bashUnit   = lazyre.New(`^\s*Running (\S+) ?\.{3} ?(SUCCESS|FAILURE|SKIPPED|PENDING)`)
	bashUnitAt = lazyre.New(`^(\S+):(\d+):(\w+)\(\)$`)

	xctestCase = lazyre.New(`^Test Case '(?:-\[)?(.+?)\]?' (passed|failed|skipped) \(`)
	xctestBad  = lazyre.New(`^(.+\.swift):(\d+): error: (?:-\[)?([\w. ]+?)\]? : (.+)$`)
	xctestSum  = lazyre.New(`^\s*Executed (\d+) tests?, with (?:\d+ tests? skipped and )?\d+ failures?`)
	swiftCase  = lazyre.New(`^[✔✘◇↳➜\x{100000}-\x{10FFFF}]*\s*Test (?:case passing .+ to )?"?(.+?)"? (passed|failed|skipped)(?: after [\d.]+ seconds| with|\.|:|$)`)
	swiftIssue = lazyre.New(`Test "?(.+?)"? recorded an issue (?:with .+ )?at (.+\.swift):(\d+):(\d+): (.+)$`)
	swiftSum   = lazyre.New(`Test run with (\d+) tests?(?: in \d+ suites?)? (?:passed|failed)`)
	swiftBuild = lazyre.New(`^(/?\S.*\.swift):(\d+):(\d+): error: (.+)$`)

	dotnetSum   = lazyre.New(`^(?:Passed|Failed|Skipped)!\s+-\s+Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:`)
	dotnetSum2  = lazyre.New(`^\s*Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)`)
	dotnetBad   = lazyre.New(`^\s+(?:\[xUnit[^\]]*\]\s+)?Failed (\S.*?) \[[^\]]*\]$`)
	dotnetAt    = lazyre.New(`^\s+at .+ in (.+):line (\d+)$`)
	dotnetBuild = lazyre.New(`^\s*(.+\.(?:cs|fs|vb))\((\d+),(\d+)\): error (\w+: .+?)(?: \[.+\])?$`)

	phpOK  = lazyre.New(`^OK \((\d+) tests?, \d+ assertions?\)`)
	phpSum = lazyre.New(`^Tests: (\d+), Assertions: \d+((?:, [A-Z][A-Za-z ]*: \d+)*)\.$`)
	phpOf  = lazyre.New(`(Failures|Errors|Skipped|Incomplete): (\d+)`)
	phpBad = lazyre.New(`^\d+\) (\w[\w\\]*::\w+.*)$`)
	phpAt  = lazyre.New(`^(/?\S+\.php):(\d+)$`)

	exunitSum = lazyre.New(`^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(\d+) tests?, (\d+) failures?(.*)$`)
	exunitBad = lazyre.New(`^\s+\d+\) (?:test|doctest|property) (.+) \(([\w.]+)\)$`)
	exunitAt  = lazyre.New(`^\s+(\S+\.exs?):(\d+)$`)

	dartSum = lazyre.New(`^\d\d:\d\d \+(\d+)(?: ~(\d+))?(?: -(\d+))?: (?:All tests passed!|Some tests failed\.)$`)
	dartBad = lazyre.New(`^\d\d:\d\d \+\d+(?: ~\d+)? -\d+: (?:(\S+\.dart): )?(.+) \[E\]$`)

	gradleBad   = lazyre.New(`^(\w[\w.$]*) > (.+?)(?:\(\))? FAILED$`)
	gradleAt    = lazyre.New(`^\s+.*\bat (\w+\.(?:java|kt|groovy)):(\d+)$`)
	gradleSum   = lazyre.New(`^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$`)
	javacBuild  = lazyre.New(`^(/\S+\.java):(\d+):() error: (.+)$`)
	kotlinBuild = lazyre.New(`^e: (?:file://)?(/\S+\.kts?):(?: \()?(\d+)[:,] ?(\d+)\)?:? (.+)$`)
)

// Examples reads RSpec and ShellSpec.
func Examples(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := exampleSum.FindStringSubmatch(l); m != nil {
			var more Result
			more.countWords(m[3])
			r.total(number(m[1]), number(m[2]), more.Skipped)
			r.Failed += more.Failed
		}
		if m := exampleBad.FindStringSubmatch(l); m != nil && !strings.HasSuffix(l, "SKIPPED") {
			r.fail(Failure{Name: m[3], Path: m[1], Line: number(m[2]), Message: "failed"})
		}
		if m := exampleOut.FindStringSubmatch(l); m != nil && strings.HasSuffix(m[1], ".rb") {
			r.fail(Failure{Name: m[1], Path: m[1], Message: firstText(lines[i+1:min(i+6, len(lines))], 3), Build: true})
		}
	}
	return r.summed()
}

// Minitest reads minitest and test-unit.
func Minitest(lines []string) Result {
	var r Result
	var broken, absent []Failure
	for i, l := range lines {
		if m := miniSum.FindStringSubmatch(l); m != nil {
			r.total(number(m[1]), number(m[2])+number(m[3]), number(m[4])+number(m[5]))
		}
		if m := rubyBroken.FindStringSubmatch(l); m != nil {
			broken = append(broken, Failure{Name: m[1], Path: m[1], Line: number(m[2]), Message: m[3] + m[4], Build: true})
		}
		if m := rubyAbsent.FindStringSubmatch(l); m != nil {
			absent = append(absent, Failure{Name: "build", Message: m[1], Build: true})
		}
		if m := unitBad.FindStringSubmatch(l); m != nil {
			r.fail(testUnit(m, lines[i+1:min(i+40, len(lines))]))
		}
		head := miniBad.FindStringSubmatch(l)
		if head == nil || i+1 >= len(lines) {
			continue
		}
		if m := miniAt.FindStringSubmatch(lines[i+1]); m != nil && (head[1] != "" || strings.Contains(m[1], "#")) {
			r.fail(Failure{Name: m[1], Path: m[2], Line: number(m[3]), Message: firstText(lines[i+2:min(i+6, len(lines))], 2)})
		}
	}
	r = r.summed()
	if !r.Known { // otherwise it may be the output of a program under test
		broken = append(broken, absent...)
	}
	for _, f := range broken {
		r.fail(f)
	}
	return r
}

// testUnit returns a failure of test-unit. Its place is the line of the test itself, below those of helpers.
func testUnit(head, below []string) Failure {
	f := Failure{Name: head[2] + "#" + head[1], Message: head[3]}
	for _, l := range below {
		if strings.HasPrefix(l, "=====") {
			return f
		}
		if at := unitAt.FindStringSubmatch(l); at != nil {
			if f.Path == "" || strings.Contains(l, strings.Split(head[1], "[")[0]) {
				f.Path, f.Line = at[1], number(at[2])
			}
		} else if text := strings.TrimSpace(l); head[3] == "" && !unitCode.MatchString(l) {
			f.Message = strings.TrimSpace(f.Message + " " + text)
		}
	}
	return f
}

// ShUnit reads shUnit2, which counts failed assertions, and bash_unit, which has no sum.
func ShUnit(lines []string) Result {
	var r Result
	test, ran := "", false
	named := newCases()
	for _, l := range lines {
		if shunitRan.MatchString(l) {
			ran = true
		}
	}
	for i, l := range lines {
		if m := bashUnit.FindStringSubmatch(l); m != nil {
			r.Known = true
			status := cmp.Or(map[string]Status{"SUCCESS": Passed, "FAILURE": Failed}[m[2]], Skipped)
			named.add(Case{Name: m[1], Status: status})
			if status == Failed {
				f := Failure{Name: m[1], Message: firstText(lines[i+1:min(i+3, len(lines))], 2)}
				for _, below := range lines[i+1 : min(i+12, len(lines))] {
					if at := bashUnitAt.FindStringSubmatch(below); at != nil && at[3] == m[1] {
						f.Path, f.Line = at[1], number(at[2])
						break
					}
				}
				r.fail(f)
			}
			continue
		}
		if !ran {
			continue
		}
		if m := shunitCase.FindStringSubmatch(l); m != nil {
			test = m[1]
			named.add(Case{Name: test, Status: Passed})
		}
		if m := shunitBad.FindStringSubmatch(l); m != nil && test != "" {
			named.add(Case{Name: test, Status: Failed})
			r.fail(Failure{Name: test, Message: m[1]})
		}
	}
	r.Known = r.Known || ran && len(named.list) > 0
	if r.Known {
		named.fill(&r)
	}
	return r
}

// Swift reads XCTest and Swift Testing.
func Swift(lines []string) Result {
	var r, broken Result
	named := newCases()
	for _, l := range lines {
		broken.broken(swiftBuild, l)
		if xctestSum.MatchString(l) || swiftSum.MatchString(l) {
			r.Known = true
		}
		m := xctestCase.FindStringSubmatch(l)
		if m == nil && !swiftSum.MatchString(l) {
			m = swiftCase.FindStringSubmatch(l)
		}
		if m != nil {
			named.add(Case{Name: m[1], Status: words[m[2]]})
		} else if m := xctestBad.FindStringSubmatch(l); m != nil {
			r.fail(Failure{Name: m[3], Path: m[1], Line: number(m[2]), Message: m[4]})
		} else if m := swiftIssue.FindStringSubmatch(l); m != nil {
			r.fail(Failure{Name: m[1], Path: m[2], Line: number(m[3]), Col: number(m[4]), Message: m[5]})
		}
	}
	if !r.Known {
		return broken
	}
	named.fill(&r)
	return r
}

// Dotnet reads `dotnet test`.
func Dotnet(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := dotnetSum.FindStringSubmatch(l); m != nil {
			r.count(number(m[2]), number(m[1]), number(m[3]))
		}
		if m := dotnetSum2.FindStringSubmatch(l); m != nil {
			r.count(number(m[3]), number(m[2]), number(m[4]))
		}
		r.broken(dotnetBuild, l)
		m := dotnetBad.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		f := Failure{Name: m[1], Message: "failed"}
		for j, below := range lines[i+1 : min(i+30, len(lines))] {
			if dotnetBad.MatchString(below) {
				break
			}
			if strings.TrimSpace(below) == "Error Message:" {
				f.Message = firstText(lines[i+2+j:min(i+6+j, len(lines))], 2)
			}
			if at := dotnetAt.FindStringSubmatch(below); at != nil {
				f.Path, f.Line = at[1], number(at[2])
				break
			}
		}
		r.fail(f)
	}
	return r
}

// Gradle reads Gradle's output about failed tests and about code that does not compile. It knows the total only if a
// test failed.
func Gradle(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := gradleSum.FindStringSubmatch(l); m != nil {
			r.total(number(m[1]), number(m[2]), number(m[3]))
		}
		r.broken(javacBuild, l)
		r.broken(kotlinBuild, l)
		if m := gradleBad.FindStringSubmatch(l); m != nil {
			f := Failure{Name: m[1] + "." + m[2], Message: firstText(lines[i+1:min(i+2, len(lines))], 1)}
			if i+1 < len(lines) {
				if at := gradleAt.FindStringSubmatch(lines[i+1]); at != nil {
					f.Line = number(at[2])
				}
			}
			r.fail(f)
		}
	}
	return r
}

// PHPUnit reads the summary of PHPUnit and its list of failures.
func PHPUnit(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := phpOK.FindStringSubmatch(l); m != nil {
			r.count(number(m[1]), 0, 0)
		}
		if m := phpSum.FindStringSubmatch(l); m != nil {
			of := map[string]int{}
			for _, n := range phpOf.FindAllStringSubmatch(m[2], -1) {
				of[n[1]] = number(n[2])
			}
			r.total(number(m[1]), of["Failures"]+of["Errors"], of["Skipped"]+of["Incomplete"])
		}
		if m := phpBad.FindStringSubmatch(l); m != nil {
			r.fail(placed(lines[i+1:], phpAt, Failure{Name: m[1]}))
		}
	}
	return r.summed()
}

// ExUnit reads `mix test`. A summary of tests alone is as that of bats, so [BatsPretty] counts it.
func ExUnit(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := exunitSum.FindStringSubmatch(l); m != nil && m[1]+m[2] != "" {
			var more Result
			more.countWords(m[5])
			r.total(number(m[1])+number(m[2])+number(m[3]), number(m[4]), more.Skipped)
		}
		if m := exunitBad.FindStringSubmatch(l); m != nil {
			r.fail(placed(lines[i+1:], exunitAt, Failure{Name: m[2] + " " + m[1]}))
		}
	}
	return r
}

// Dart reads `dart test` and `flutter test`.
func Dart(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := dartSum.FindStringSubmatch(l); m != nil {
			r.count(number(m[1]), number(m[3]), number(m[2]))
		}
		if m := dartBad.FindStringSubmatch(l); m != nil {
			r.fail(Failure{Name: m[2], Path: m[1], Message: firstText(lines[i+1:min(i+4, len(lines))], 2)})
		}
	}
	return r.summed()
}

// placed completes f with the first place and the first two lines of the text below its title.
func placed(below []string, at *lazyre.Regexp, f Failure) Failure {
	below = below[:min(30, len(below))]
	f.Message = firstText(below, 2)
	for _, l := range below {
		if m := at.FindStringSubmatch(l); m != nil {
			f.Path, f.Line = m[1], number(m[2])
			break
		}
	}
	return f
}
