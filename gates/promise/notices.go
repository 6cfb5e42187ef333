package promise

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// RuleNotices marks a test file whose tests also pass with wrong code, or with the code before the change.
const RuleNotices = "tests-notice-nothing"

// notices explains why the tests of a file notice nothing. They passed in run one, which took took. It returns "" if
// they notice wrong code, or if that is unknown because the wrong version does not build.
//
// First it looks for the new tests among those that ran. Then it runs the file with a wrong version of the batch's new
// functions: their operators and results are wrong. New tests that run such a line and still pass check nothing. Tests
// that name a new function but run no such line check nothing either. Changed functions are not made wrong: a test
// cannot notice a wrong cache or shortcut. If the batch corrects a fault, the file also runs with the code before the
// change.
func notices(ctx context.Context, l *gates.Look, file string, one gates.SingleRun,
	took time.Duration) (blind string, err error) {
	s := l.Subject()
	if s.Diff == nil {
		return "", nil
	}
	files, _, err := gates.Files(ctx, s.Diff, nil)
	at := slices.IndexFunc(files, func(f gates.File) bool { return f.Path == file })
	if err != nil || at < 0 {
		return "", err
	}
	if blind = unrun(files[at], one); blind != "" {
		return blind, nil
	}
	dir, err := os.MkdirTemp("", "runplan-lines-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	mark := filepath.ToSlash(filepath.Join(dir, "ran"))
	wrong, shown, unused := map[string]string{}, "", ""
	for _, f := range codeOf(files) {
		if list := worst(f); len(list) > 0 {
			addWrong(wrong, s.Dir, f, list, mark)
			shown = cmp.Or(shown, f.Path+": "+list[0].was+" as "+list[0].bad)
			module := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
			if root.MatchString(module) || names(strings.ToLower(files[at].After), strings.ToLower(module)) ||
				path.Ext(f.Path) == ".go" && path.Dir(f.Path) == path.Dir(file) {
				for _, a := range f.AddedLines() {
					if name := freshName(f, a.Text); len(name) > 2 && names(files[at].After, name) &&
						!built.MatchString(files[at].After) {
						unused = name
					}
				}
			}
		}
	}
	limit := 3*took + 10*time.Second // wrong code may not end
	if len(wrong) > 0 && newTests(files[at]) {
		pass, err := passes(ctx, l, file, wrong, limit)
		_, missing := os.Stat(mark)
		switch {
		case err != nil:
			return "", err
		case !pass: // the tests noticed, or nothing is known
			if blind, err := unnoticed(ctx, l, files, file, mark, limit); err != nil || blind != "" {
				return blind, err
			}
		case missing == nil:
			return "the new tests run new lines, and pass although these lines are wrong: " + shown, nil
		case unused != "":
			return "the new tests name " + unused + ", and run none of the lines that the batch adds", nil
		}
	}
	if untested, err := idled(ctx, l, files, file, limit); err != nil || untested != "" {
		return untested, err
	}
	return before(ctx, l, files, file, limit)
}

// codeOf returns the files of a change that are code and not deleted, without tests.
func codeOf(files []gates.File) []gates.File {
	return lists.Filter(files, func(f gates.File) bool {
		return !f.Link && f.Status != gates.Deleted && !language.IsTest(f.Path)
	})
}

// mostSingle limits the number of versions with one wrong line. Each costs a run of the tests, and the first version
// that they notice ends the search.
const mostSingle = 5

// foreign is a wrong result that is not empty: a test that only checks that a result exists does not notice it.
const foreign = `"runplan"`

// errorCheck matches a check for an error. A wrong version of this check may give the same results.
var errorCheck = lazyre.New(`\berr\w*\s*[!=]=\s*nil\b`)

// unnoticed finds new tests that notice only a missing result: they pass with each version that has one wrong line.
func unnoticed(ctx context.Context, l *gates.Look, files []gates.File, file, mark string, limit time.Duration) (string,
	error) {
	type version struct {
		gates.File
		wrongLine
	}
	var all []version
	for _, f := range codeOf(files) {
		for _, w := range wrongLines(f) {
			none := empty[codeExt(f.Path)]
			switch {
			case w.kind == noResult && none != "":
				w.bad = strings.Replace(w.bad, "return "+none, "return "+foreign, 1)
			case w.kind != wrongOperator, errorCheck.MatchString(w.was):
				continue
			}
			all = append(all, version{f, w})
		}
	}
	var survived []string
	for i := range min(len(all), mostSingle) {
		v := all[i*len(all)/min(len(all), mostSingle)]
		texts := map[string]string{}
		addWrong(texts, l.Subject().Dir, v.File, []wrongLine{v.wrongLine}, mark)
		_ = os.Remove(mark)
		pass, err := passes(ctx, l, file, texts, limit)
		if err != nil || !pass {
			return "", err
		}
		if _, missing := os.Stat(mark); missing == nil {
			survived = append(survived, v.was+" as "+v.bad)
		}
	}
	if len(survived) < min(2, len(all)) || len(all) == 0 {
		return "", nil
	}
	return "the new tests run new lines, and pass on each of " + phrase.Count(len(survived), "version", "versions") +
		" with one wrong line: " + strings.Join(survived[:min(len(survived), 2)], "; "), nil
}

// idled finds a new function that the batch and its new tests name, although the tests pass if the function does
// nothing.
func idled(ctx context.Context, l *gates.Look, files []gates.File, file string, limit time.Duration) (string, error) {
	b := l.Subject().Batch
	at := slices.IndexFunc(files, func(f gates.File) bool { return f.Path == file })
	if !asksTests.MatchString(fenced.ReplaceAllString(b.Text, "")) || !newTests(files[at]) {
		return "", nil
	}
	tried := 0
	for _, f := range codeOf(files) {
		for _, a := range f.AddedLines() {
			name := language.Declared(a.Text)
			if len(name) < 3 || declaredIn(f.Before, a.Text) || !calls(files[at], name) ||
				!regexp.MustCompile("`[^`\\n]*\\b"+name+`\b`).MatchString(b.Text) {
				continue
			}
			text := emptied(f, a)
			if text == "" || tried == mostIdled {
				continue
			}
			tried++
			pass, err := passes(ctx, l, file, map[string]string{f.Path: text}, limit)
			if err != nil || pass {
				return "the new tests name " + name + ", and pass although it does nothing", err
			}
		}
	}
	return "", nil
}

// mostIdled limits how many functions of a batch are tried in this way. Each costs a run of the tests.
const mostIdled = 5

// calls reports whether a test file calls a function without declaring one of the same name. A declaration may replace
// the function, and then the tests need not notice what it does.
func calls(f gates.File, name string) bool {
	for line := range strings.Lines(f.After) {
		if language.Declared(line) == name {
			return false
		}
	}
	return path.Ext(f.Path) == ".rb" && names(f.After, name) ||
		regexp.MustCompile("(?:^|[^\\w'\"`])"+name+`\(`).MatchString(f.After)
}

// emptied returns a file in which the function that a line declares returns at once; "" if that cannot be done, as for
// Go functions with results.
func emptied(f gates.File, header gates.Line) string {
	ext, line := codeExt(f.Path), header.Text
	first := map[string]string{".py": "return None", ".rb": "return nil", ".js": "return undefined;", ".go": "return"}[ext]
	if first == "" || !idleHeader.MatchString(line) || ext == ".go" && !goNoResult.MatchString(line) {
		return ""
	}
	lines := strings.Split(f.After, "\n")
	if header.Number >= len(lines) {
		return ""
	}
	body := lines[header.Number]
	lines[header.Number] = body[:len(body)-len(strings.TrimLeft(body, " \t"))] + first + "\n" + body
	return strings.Join(lines, "\n")
}

// unrun finds a file whose runner names the tests that ran, and names none of the new tests. It ignores scripts, which
// print arbitrary names, and JUnit, which may print other names.
func unrun(f gates.File, one gates.SingleRun) (blind string) {
	kind := language.OfTest(f.Path)
	named := slices.Contains([]string{language.Go, language.Python, language.Node, language.Rust, language.Bats}, kind)
	if !named || one.Passed == 0 || len(one.Cases) < one.Passed {
		return ""
	}
	old := testcode.Read(f.Path, f.Before)
	for _, u := range testcode.Read(f.Path, f.After).Units {
		if _, was := old.Find(u.Name); was {
			continue
		}
		groups := strings.Split(u.Name, testcode.GroupMark)
		name := groups[len(groups)-1]
		if kind == language.Python {
			name = name[strings.LastIndex(name, ".")+1:]
		}
		name = strings.TrimSpace(name)
		// the runner may print it otherwise
		otherwise := strings.ContainsAny(name, "$%#\\`\"'") || strings.Contains(name, "  ")
		if u.Skips > 0 || otherwise ||
			slices.ContainsFunc(one.Cases, func(c testout.Case) bool { return strings.Contains(c.Name, name) }) {
			return ""
		}
		blind = cmp.Or(blind, "none of the new tests ran, such as "+u.Name)
	}
	return blind
}

// passes reports whether the tests of a file pass while other files have other contents.
func passes(ctx context.Context, l *gates.Look, file string, texts map[string]string, limit time.Duration) (bool,
	error) {
	one, err := runOf(ctx, l, file, texts, limit)
	if err != nil {
		return false, err
	}
	return one.OK && (one.Outcome == gates.RunPassed || one.Outcome == gates.RunSkipped), nil
}

var (
	// wrongNow matches a text about a fault in the present code.
	wrongNow = lazyre.New(`(?i)\b(?:today|currently|at present|so far|wrong(?:ly)?|bugs?|incorrect\w*|crash\w*|panics?|ignores?|broken)\b|` +
		`(?m)(?:^[^\w\n]*(?:(?:Task|Step) [\w.]+\W+)?|[.!?]\s+)(?:Fix|Correct|Repair)\b`)
	// asksTests matches a text that asks for tests.
	asksTests = lazyre.New(`(?i)\b(?:add|write|extend|change|cover)\b[^.;]*\b(?:tests?|specs?|cases?)\b|\bwith (?:an? |its |new |own )*(?:tests?|specs?|examples?)\b|` +
		"(?m)(?:^|[.;]\\s+)Tests? (?:with|in|go|goes)\\b[^.;]*`[^`\n]+`(?:,[^.;]*)?(?:[.;]|$)")
	// testsPass matches a condition on existing tests, which asks for no new tests.
	testsPass = lazyre.New(`(?i)\b(?:tests?|specs?|suites?)\b (?:(?:still|must|should|all|to|can|will|do|does|again|now|are|is|be) )*(?:pass\w*|stay\w*|remain\w*|succeed\w*|green|run)\b`)
	// unseenFault matches a text about a fault that a test often cannot show.
	unseenFault = lazyre.New(`(?i)\b(?:races?|racy|flak\w*|leak\w*|deadlock\w*|perform\w*|slow\w*|speed\w*|efficien\w*|optimi[sz]\w*|memory|` +
		`alloc\w*|threads?|concurren\w*|refactor\w*|typing|types?|annotat\w*|lint\w*|compil\w*|platforms?|systems?|characteri[sz]\w*)\b|\b[Oo]n (?:Windows|macOS|Linux)\b`)
)

// showsFault reports whether a batch corrects a fault and asks for tests that can show the fault.
func showsFault(text string) bool {
	text = fenced.ReplaceAllString(text, "")
	return wrongNow.MatchString(text) && asksTests.MatchString(text) && !unseenFault.MatchString(text)
}

// behavesSame matches words of a batch that may not change behaviour.
var behavesSame = lazyre.New(`(?i)\b(?:extract\w*|split\w*|mov(?:e|es|ed|ing)|renam\w*|simplif\w*|clean\w*|reorgani\w*|inlin\w*|dedup\w*|duplicat\w*|` +
	`reus\w*|shar(?:e|es|ed|ing)|replac\w*|rewrit\w*|same|unchanged|stays?|still|cach\w*|lazy|lazily|remov\w*|delet\w*|` +
	`docs?|document\w*|comments?|regressions?|coverage)\b`)

// changesOld reports whether a batch only changes the behaviour of old functions, and asks for tests that can show this
// change.
func changesOld(b planparse.Batch, files []gates.File) bool {
	text := b.Title + "\n" + fenced.ReplaceAllString(b.Text, "")
	return asksTests.MatchString(text) && !unseenFault.MatchString(text) && !behavesSame.MatchString(text) &&
		!slices.ContainsFunc(codeOf(files), func(f gates.File) bool {
			return slices.ContainsFunc(f.AddedLines(), func(a gates.Line) bool {
				return language.Declared(a.Text) != "" && !declaredIn(f.Before, a.Text) || declaredType.MatchString(a.Text)
			})
		})
}

// before finds tests that pass on the code before the change, although the batch corrects it or only changes old
// functions. The tests must load this code: they have to fail if the code is unreadable. The result is unknown if the
// batch has new tests that its plan does not name.
func before(ctx context.Context, l *gates.Look, files []gates.File, file string, limit time.Duration) (string, error) {
	at := slices.IndexFunc(files, func(f gates.File) bool { return f.Path == file })
	if b := l.Subject().Batch; !showsFault(b.Text) && !(newTests(files[at]) && changesOld(b, files)) {
		return "", nil
	}
	old, unreadable, named := map[string]string{}, map[string]string{}, l.Subject().Batch.Files.Test
	for _, f := range files {
		switch {
		case prose.MatchString(f.Path):
		case language.IsTest(f.Path) && f.Path != file && newTests(f) && !slices.Contains(named, f.Path),
			!language.IsTest(f.Path) && (f.Status != gates.Modified || f.Link || strings.Contains(f.After, "#[test]")):
			return "", nil
		case !language.IsTest(f.Path):
			old[f.Path], unreadable[f.Path] = f.Before, "((\n"
		}
	}
	if len(old) == 0 {
		return "", nil
	}
	if pass, err := passes(ctx, l, file, old, limit); err != nil || !pass {
		return "", err
	}
	if pass, err := passes(ctx, l, file, unreadable, limit); err != nil || pass {
		return "", err
	}
	return "the tests pass on the code before the change as well, so they do not check what the batch changes", nil
}

// receiver matches the type that a method of Go belongs to.
var receiver = lazyre.New(`^func \((?:\w+ )?\*?(\w+)`)

// declaredIn reports whether a text declares the same function as a line. In Go a method of another type is another
// function.
func declaredIn(text, line string) bool {
	name, of := language.Declared(line), receiver.FindStringSubmatch(line)
	if !names(text, name) {
		return false
	}
	for l := range strings.Lines(text) {
		if m := receiver.FindStringSubmatch(l); language.Declared(strings.TrimRight(l, "\n")) == name &&
			slices.Equal(m[min(len(m), 1):], of[min(len(of), 1):]) {
			return true
		}
	}
	return false
}

// freshName returns the name of the function or class that a line declares, or "" if the old version of its file
// declared this name, too.
func freshName(f gates.File, line string) string {
	if m := declaredType.FindStringSubmatch(line); m != nil && !names(f.Before, m[1]) {
		return m[1]
	}
	if name := language.Declared(line); name != "" && !declaredIn(f.Before, line) {
		return name
	}
	return ""
}

func names(text, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text)
}

// newTests reports whether a file has tests that its old version lacks.
func newTests(f gates.File) bool {
	if f.Status == gates.Added {
		return true
	}
	old := testcode.Read(f.Path, f.Before)
	return slices.ContainsFunc(testcode.Read(f.Path, f.After).Units, func(u testcode.Unit) bool {
		_, was := old.Find(u.Name)
		return !was
	})
}
