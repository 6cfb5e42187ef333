package planparse

import (
	"strings"
	"testing"
)

// A sentence that asks for a file is a promise about it.
func TestSentencesAskForFiles(t *testing.T) {
	for line, want := range map[string]string{
		"Create `hello.txt`:":                                             "create hello.txt",
		"- [ ] **Step 1: Create `package.json`**":                         "create package.json",
		"- [ ] T002 [P] [US1] Create the User model in src/user.py":       "create src/user.py (place)",
		"- [ ] T004 Implement UserService in `src/service.py` (T002)":     "modify src/service.py (place)",
		"1. Add a new file called `lib/a.ts` with the parser":             "create lib/a.ts",
		"2. Add `--json` to `src/cli.py`":                                 "modify src/cli.py (place)",
		"3. Add `a.ts` to `index.ts`":                                     "modify index.ts (place)",
		"- Update src/app.py to register the routes":                      "modify src/app.py",
		"- Modify `a.go` and `b.go`":                                      "modify a.go, modify b.go",
		"- Delete `old.py`.":                                              "delete old.py",
		"- Delete `a.py`, `b.py` and `tests/test_a.py`":                   "delete a.py, delete b.py, delete tests/test_a.py",
		"- Delete `a.py`, `b.py`, and everything that imports them":       "delete a.py, delete b.py",
		"- Remove `a.py` and `b.py` from the list":                        "",
		"- Write tests in `tests/test_a.py`":                              "modify tests/test_a.py (place)",
		"- 创建 `src/a.py`":                                                 "create src/a.py",
		"- `src/a.py` erstellen":                                          "create src/a.py",
		"- `src/a.py` を作成する":                                              "create src/a.py",
		"- 在 `src/a.py` 中实现登录":                                            "modify src/a.py (place)",
		"- Crear `src/a.py` con el modelo":                                "create src/a.py",
		"- Implement `load` (POST) in `src/a.ts`":                         "modify src/a.ts (place)",
		"- Update the script — change `index.js` to `server.js`":          "",
		"Correct add. Create convert.py, and write `b/c.py`. Add `d.py`.": "create convert.py, create b/c.py, create d.py",
		"- Export it; declare it in `a.ts`\n  and add checks to `b.ts`":   "modify a.ts (place), modify b.ts (place)",
		"- Tests in `a_test.py` for every rule above":                     "modify a_test.py (place)",
		"Specs go to `spec/a_spec.rb`.":                                   "modify spec/a_spec.rb (place)",
		"- An entry in `CHANGELOG.md` under a new heading":                "modify CHANGELOG.md (place)",
		"- In `README.md`, below the list, add a section":                 "modify README.md (place)",
		"- Tests in `a_test.py` pass":                                     "",
		"- In `a.py`, a value without a length raises an error":           "",
		"- The page lets users create and update `a.json`":                "",
		"- It creates a form\n  and updates `a.json`":                     "",
		"- Create a Next.js page":                                         "",
		"- Remove `a.py` from the list":                                   "",
		"- `src/a.tsx` を更新（存在する場合）":                                       "",
		"- Don't create `a.py`":                                           "",
		"- Creates `dist/out.js` when it runs":                            "",
		"- Create a class like `src/base.py`":                             "",
		"- Create tests for `src/a.py`":                                   "",
		"- Create the branch `feature/x`":                                 "",
		"- Add `opts.env`, the prefix of variables":                       "",
		"- Create `User.find`":                                            "",
		"- Create `/etc/hosts.json`":                                      "",
		"- Update `README.md` if needed":                                  "",
		"- Write the results to `out/report.json`":                        "",
		"- Create `src/a.py` or `src/b.py`":                               "",
		"- Create a temporary file `x.md`":                                "",
		"- Create `fixtures/*.json`":                                      "",
		"- [x] Create `done.py`":                                          "",
		"#### Manual test\n\n- Create `x.md` and look at it":              "",
		"```text\nCreate `x.md`\n```":                                     "",
		"**Files:**\n- Create: `a.py`\n\nCreate `a.py` with a parser.":    "create a.py",
	} {
		p, err := Parse("plan.md", []byte("# P\n\n## Batch 1: b\n\n### Task 1: t\n\n"+line+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range p.Batches[0].Promises() {
			text := n.Verb + " " + n.Path
			if n.Place {
				text += " (place)"
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q asks for %q, want %q", line, strings.Join(got, ", "), want)
		}
		if f := p.Batches[0].Files; !strings.Contains(line, "Files:") && len(f.All()) > 0 {
			t.Errorf("%q adds %v to the Files of the batch", line, f)
		}
	}
}
