package testout

import (
	"cmp"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var (
	nodeSum   = lazyre.New(`^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d+)$`)
	nodeAt    = lazyre.New(`^\s*test at (.+)$`)
	nodeBad   = lazyre.New(`^\s*✖ (.+?) \([\d.]+ms\)(.*)$`)
	jestSum   = lazyre.New(`^Tests:\s+(.*\btotal)\s*$`)
	jestBad   = lazyre.New(`^ {0,2}● (.+)$`) // deeper lines are output of a test
	jestFile  = lazyre.New(`^FAIL\s+(?:\S+\s+)??(\S+\.[cm]?[jt]sx?)\b`)
	jsFrame   = lazyre.New(`^\s*(?:at|❯)\s+(?:.*\()?(?:file://)?([^\s()]+?):(\d+):(\d+)\)?\s*$`)
	vitestSum = lazyre.New(`^\s*Tests\s{2,}(no tests|\d.*)$`)
	vitestBad = lazyre.New(`^\s*FAIL\s+(?:\|?[\w-]+\|?\s+)??(\S+\.[cm]?[jt]sx?)(?:\s+>\s+(.+)|\s+\[.*)?$`)
	mochaSum  = lazyre.New(`^\s+\d+ (passing|failing|pending)\b`)
	mochaBad  = lazyre.New(`^\s+\d+\) (.+)$`)
	mochaFile = lazyre.New(`\(([^()]+\.[cm]?[jt]sx?)\)$`)
	jsSyntax  = lazyre.New(`^\s*SyntaxError: (.+?\.[cm]?[jt]sx?): .*\((\d+):(\d+)\)$`)
	vitestAt  = lazyre.New(`^\s*File: (.+?):(\d+):(\d+)$`)
	uvuSum    = lazyre.New(`^  (Total|Passed|Skipped): +(\d+)$`)
	uvuBad    = lazyre.New(`^   FAIL +(?:\S.*?  )?"(.+)"$`)
	avaSum    = lazyre.New(`^  \d+ (?:tests? (?:passed|failed|skipped|todo)|uncaught exceptions?)$`)
	avaCase   = lazyre.New(`^  (✔|✘ \[fail\]:|- \[(?:skip|todo)\]) (?:\[expected fail\] )?(.+?)(?: \((?:\d+m )?[\d.]+m?s\))?$`)
	avaBroken = lazyre.New(`^  Uncaught exception in (\S+)$`)
	avaAt     = lazyre.New(`^  (?:› )?(?:file://)?(\S+\.[cm]?[jt]sx?):(\d+)(?::(\d+))?$`)
)

// Node reads `node --test`, in its TAP and in its spec form. Todo tests count as skipped.
func Node(lines []string) Result {
	var r Result
	seen := map[string]bool{}
	for i, l := range lines {
		if m := nodeSum.FindStringSubmatch(strings.TrimRight(l, " \t")); m != nil {
			seen[m[1]] = true
			r.countWords(m[2] + " " + m[1])
			continue
		}
		if m := nodeAt.FindStringSubmatch(l); m != nil && i+1 < len(lines) {
			b := nodeBad.FindStringSubmatch(lines[i+1])
			if b == nil || strings.Contains(b[2], "# TODO") {
				continue
			}
			f := Failure{Name: b[1], Message: firstText(lines[i+2:min(i+5, len(lines))], 2)}
			f.Path, f.Line, f.Col = place(m[1])
			r.fail(f)
		}
	}
	if r.Known = seen["pass"] && (seen["fail"] || seen["cancelled"]); !r.Known {
		return Result{}
	}
	if tap := TAP(lines); len(tap.Failures) > 0 && len(r.Failures) == 0 {
		r.Failures = tap.Failures
	}
	return r
}

// Jest reads the summary that jest prints.
func Jest(lines []string) Result {
	var r Result
	file, broken := "", false
	for i, l := range lines {
		if m := jestSum.FindStringSubmatch(l); m != nil {
			r.Known = true
			r.countWords(m[1])
			continue
		}
		if m := jestFile.FindStringSubmatch(l); m != nil {
			file = m[1]
			continue
		}
		m := jestBad.FindStringSubmatch(l)
		if m == nil || strings.HasPrefix(m[1], "Console") {
			continue
		}
		f := Failure{Name: strings.TrimSpace(m[1]), Path: file, Build: strings.Contains(m[1], "Test suite failed to run")}
		below := untilNext(lines[i+1:], jestBad, jestFile, jestSum)
		f.Message = firstText(below, 3)
		f.at(jsPlace(below))
		broken = broken || f.Build
		r.fail(f)
	}
	if broken {
		r.Failed = max(r.Failed, 1) // jest does not count the tests of a suite it could not load
	}
	return r.summed()
}

// Vitest reads the summary that vitest prints.
func Vitest(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := vitestSum.FindStringSubmatch(l); m != nil {
			r.Known = r.countWords(m[1]) || m[1] == "no tests" || r.Known
			continue
		}
		m := vitestBad.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		f := Failure{Name: cmp.Or(m[2], m[1]), Path: m[1], Build: m[2] == ""}
		below := untilNext(lines[i+1:], vitestBad, vitestSum)
		f.Message = firstText(below, 1)
		f.at(jsPlace(below))
		r.fail(f)
	}
	return r.summed()
}

// Uvu reads uvu. Its total is without the skipped tests.
func Uvu(lines []string) Result {
	var r Result
	sum := map[string]int{}
	for i, l := range lines {
		if m := uvuSum.FindStringSubmatch(l); m != nil {
			sum[m[1]] += number(m[2])
			r.Known = r.Known || m[1] == "Passed"
		}
		if m := uvuBad.FindStringSubmatch(l); m != nil {
			below := untilNext(lines[i+1:], uvuBad, uvuSum)
			f := Failure{Name: m[1], Message: firstText(below, 3)}
			f.at(jsPlace(below))
			r.fail(f)
		}
	}
	r.count(sum["Passed"], sum["Total"]-sum["Passed"], sum["Skipped"])
	r.Known = r.Known && len(sum) == 3
	return r.summed()
}

// Mocha reads the spec reporter of mocha.
func Mocha(lines []string) Result {
	var r Result
	for i, l := range lines {
		if m := mochaSum.FindStringSubmatch(l); m != nil {
			r.countWords(l)
			r.Known = r.Known || m[1] == "passing"
			continue
		}
		// The list of failures comes after the totals. The same marks before the totals are progress output.
		if m := mochaBad.FindStringSubmatch(l); m != nil && r.Known {
			below := untilNext(lines[i+1:], mochaBad)
			f := Failure{}
			f.Name, below = mochaTitle(m[1], below)
			f.Message = firstText(below, 3)
			if f.Path, f.Line, f.Col = jsPlace(below); f.Path == "" {
				f.Path = mochaSuite(below)
			}
			r.fail(f)
		}
	}
	return r.summed()
}

// Ava reads ava's default reporter. It has no total of the passed tests if a test failed.
func Ava(lines []string) Result {
	var r Result
	named := newCases()
	for i, l := range lines {
		r.Known = r.Known || avaSum.MatchString(l)
		if m := avaBroken.FindStringSubmatch(l); m != nil {
			named.add(Case{Name: m[1], Status: Failed})
			r.fail(Failure{Name: m[1], Path: m[1], Build: true, Message: firstText(lines[i+1:min(i+4, len(lines))], 1)})
		}
		m := avaCase.FindStringSubmatch(l)
		switch {
		case m == nil:
		case strings.HasPrefix(m[1], "-"):
			named.add(Case{Name: m[2], Status: Skipped})
		case m[1] == "✔":
			named.add(Case{Name: m[2], Status: Passed})
		default:
			f := avaFailure(m[2], lines[i+1:])
			named.add(Case{Name: f.Name, Status: Failed})
			r.fail(f)
		}
	}
	if !r.Known || len(named.list) == 0 {
		return Result{}
	}
	named.fill(&r)
	return r
}

// avaFailure reads a failed test. said is its title and perhaps a message; the title has its own line further below.
func avaFailure(said string, below []string) Failure {
	f := Failure{Name: said}
	for i, l := range below {
		title, ok := strings.CutPrefix(l, "  ")
		if message, begins := strings.CutPrefix(said, title); !ok || title == "" || !begins ||
			message != "" && message[0] != ' ' {
			continue
		}
		f.Name = title
		about := untilNext(below[i+1:], avaCase, avaSum)
		for k := range len(about) - 1 {
			if about[k] == "" && about[k+1] == "" {
				about = about[:k] // the next failure follows
				break
			}
		}
		f.Message = firstText(about, 3)
		for _, l := range about {
			if m := avaAt.FindStringSubmatch(l); m != nil {
				f.at(m[1], number(m[2]), number(m[3]))
				break
			}
		}
		if f.Path == "" {
			f.at(jsPlace(about))
		}
		break
	}
	return f
}

// mochaTitle joins the title of a test. Each suite has its own line, indented further, and the last line ends in a
// colon. It also returns the lines below.
func mochaTitle(first string, below []string) (string, []string) {
	words := []string{first}
	for i, l := range below {
		if strings.HasSuffix(words[len(words)-1], ":") {
			return strings.TrimSuffix(strings.Join(words, " "), ":"), below[i:]
		}
		if l = strings.TrimSpace(l); l == "" {
			break
		}
		words = append(words, l)
	}
	return strings.TrimSuffix(first, ":"), below
}

// mochaSuite returns the file that mocha names if there is no frame, as after a timeout.
func mochaSuite(lines []string) string {
	for _, l := range lines {
		if m := mochaFile.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			return m[1]
		}
	}
	return ""
}

// at sets the place of a failure if it is known.
func (f *Failure) at(path string, line, col int) {
	if path != "" {
		f.Path, f.Line, f.Col = path, line, col
	}
}

// jsPlace finds the first frame in the project's own code, or the place of a parse error.
func jsPlace(lines []string) (string, int, int) {
	for _, l := range lines {
		for _, broken := range []*lazyre.Regexp{jsSyntax, vitestAt} {
			if m := broken.FindStringSubmatch(l); m != nil {
				return m[1], number(m[2]), number(m[3])
			}
		}
		// Only packages of npm: these paths are absolute, and the project itself may be below a folder named vendor.
		if m := jsFrame.FindStringSubmatch(l); m != nil &&
			!strings.Contains(m[1], "node_modules") && !strings.HasPrefix(m[1], "node:") {
			return m[1], number(m[2]), number(m[3])
		}
	}
	return "", 0, 0
}

// untilNext returns the lines before the next head, at most 60.
func untilNext(lines []string, heads ...*lazyre.Regexp) []string {
	lines = lines[:min(len(lines), 60)]
	for i, l := range lines {
		for _, h := range heads {
			if h.MatchString(l) {
				return lines[:i]
			}
		}
	}
	return lines
}
