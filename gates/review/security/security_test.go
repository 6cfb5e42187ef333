package security_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/tools/gatetest"
)

// Each line of a new file has the expected finding, or none.
func TestBuiltIn(t *testing.T) {
	for file, lines := range map[string]map[string]string{
		"app.go": {
			`rows, err := db.Query("SELECT name FROM users WHERE id = " + id)`:                      "error security/sql",
			`rows, err := db.Query("SELECT name FROM users WHERE name = '" + name + "'")`:           "error security/sql",
			`q := fmt.Sprintf("DELETE FROM users WHERE id = %s", id)`:                               "error security/sql",
			`q := fmt.Sprintf("UPDATE users SET name = '%v'", name)`:                                "error security/sql",
			"q := `select * from t where a like '` + a":                                             "error security/sql",
			`q := fmt.Sprintf("SELECT * FROM %s", table)`:                                           "info security/sql",
			`q := "SELECT " + columns + " FROM users"`:                                              "info security/sql",
			`rows, err := db.Query("SELECT name FROM users WHERE id = ?", id)`:                      "",
			`rows, err := db.Query("SELECT name FROM users " + "WHERE id = ?", id)`:                 "",
			`q := fmt.Sprintf("SELECT * FROM t LIMIT %d", n)`:                                       "",
			`// db.Query("SELECT name FROM users WHERE id = " + id)`:                                "",
			`msg := "select one from the list: " + name`:                                            "info security/sql",
			`msg := "please select: " + name`:                                                       "",
			`cmd := exec.Command("sh", "-c", "ls "+dir)`:                                            "error security/shell",
			`cmd := exec.CommandContext(ctx, "bash", "-c", script)`:                                 "warning security/shell",
			`cmd := exec.Command("sh", "-c", "ls -l")`:                                              "",
			`cmd := exec.Command("ls", dir)`:                                                        "",
			`c := &tls.Config{InsecureSkipVerify: true}`:                                            "error security/tls",
			`page := template.HTML(comment)`:                                                        "warning security/html",
			`err := os.WriteFile(name, data, 0o777)`:                                                "warning security/mode",
			`q := "SELECT a FROM b WHERE c IN (" + marks + ")"`:                                     "warning security/sql",
			`f, err := os.OpenFile(name, os.O_CREATE, 0o666)`:                                       "",
			`err := os.WriteFile(name, data, 0o644)`:                                                "",
			`db.Query("SELECT a FROM b WHERE c = " + d) // runplan:ignore security d is a constant`: "warning security/suppressed",
			`db.Query("SELECT a FROM b WHERE c = " + d) // runplan:ignore security`:                 "error security/sql",
		},
		"app.py": {
			`cur.execute("SELECT * FROM users WHERE name = '%s'" % name)`:      "error security/sql",
			`cur.execute(f"SELECT * FROM users WHERE id = {user_id}")`:         "error security/sql",
			`cur.execute("DELETE FROM users WHERE id = " + user_id)`:           "error security/sql",
			`cur.execute("SELECT * FROM users WHERE id = {}".format(user_id))`: "error security/sql",
			`cur.execute("SELECT * FROM users WHERE id = %s", (user_id,))`:     "",
			`cur.execute("SELECT * FROM users WHERE id = ?", (user_id,))`:      "",
			`subprocess.run(f"ls {path}", shell=True)`:                         "error security/shell",
			`subprocess.run(command, shell=True)`:                              "error security/shell",
			`subprocess.run("ls -l", shell=True)`:                              "warning security/shell",
			`subprocess.run(["ls", path])`:                                     "",
			`os.system("rm " + path)`:                                          "error security/shell",
			`os.system("clear")`:                                               "",
			`value = eval(text)`:                                               "error security/eval",
			`value = ast.literal_eval(text)`:                                   "",
			`model.eval()`:                                                     "",
			`data = pickle.loads(body)`:                                        "error security/deserialise",
			`data = yaml.load(body)`:                                           "error security/deserialise",
			`data = yaml.load(body, Loader=yaml.SafeLoader)`:                   "",
			`data = yaml.safe_load(body)`:                                      "",
			`requests.get(url, verify=False)`:                                  "error security/tls",
			`os.chmod(path, 0o777)`:                                            "warning security/mode",
			`# eval(text) would be wrong`:                                      "",
		},
		"app.ts": {
			"db.query(`SELECT * FROM users WHERE id = ${id}`)":       "error security/sql",
			`db.query("SELECT * FROM users WHERE id = $1", [id])`:    "",
			"execSync(`ls ${dir}`)":                                  "error security/shell",
			`child_process.exec("ls " + dir)`:                        "error security/shell",
			`const m = /a/.exec(text)`:                               "",
			`const v = eval(text)`:                                   "error security/eval",
			`const f = new Function("return 1")`:                     "info security/eval",
			`const agent = new Agent({ rejectUnauthorized: false })`: "error security/tls",
			`el.innerHTML = comment`:                                 "warning security/html",
			`el.innerHTML = ""`:                                      "",
			`el.textContent = comment`:                               "",
		},
	} {
		after, at := map[string]string{}, map[string]string{}
		for line := range lines {
			at[line] = fmt.Sprintf("d%02d/%s", len(at), file)
			after[at[line]] = line + "\n"
		}
		_, got := gatetest.Look(t, security.New(), gatetest.Change(t, map[string]string{"x": "x"}, after))
		for line, want := range lines {
			var found []string
			for _, g := range got {
				if what, ok := strings.CutSuffix(g, " "+at[line]+":1"); ok {
					found = append(found, what)
				}
			}
			if strings.Join(found, "; ") != want {
				t.Errorf("%s: %s\ngot  %q\nwant %q", file, line, found, want)
			}
		}
	}
}

// The gate checks only added lines. A query may continue in the next line; a finding in a test is a remark, and
// fixtures are skipped.
func TestBuiltInChecksOnlyAddedLines(t *testing.T) {
	old := "cur.execute(\"SELECT * FROM users WHERE id = \" + i)\n"
	s := gatetest.Change(t, map[string]string{"a.py": old}, map[string]string{
		"a.py":            old + "x = 1\ncur.execute(\"SELECT * FROM users WHERE id = \" +\n    i)\n",
		"test_a.py":       "cur.execute(\"SELECT * FROM users WHERE id = \" + i)\n",
		"benchmark.js":    "run(`SELECT * FROM users WHERE id = ${i}`)\n",
		"bench/db.py":     "cur.execute(\"SELECT * FROM users WHERE id = \" + i)\n",
		"benchmarked.py":  "cur.execute(\"SELECT * FROM users WHERE id = \" + i)\n",
		"testdata/bad.py": "eval(x)\n",
		"notes.md":        "eval(x)\n",
	})
	_, got := gatetest.Look(t, security.New(), s)
	want := []string{"error security/sql a.py:3", "info security/sql bench/db.py:1", "info security/sql benchmark.js:1",
		"error security/sql benchmarked.py:1", "info security/sql test_a.py:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A function of the file named exec starts no shell, unless the file starts programs.
func TestOwnExec(t *testing.T) {
	const own = "exec(`${name}: adds`, add)\n\nfunction exec(name, run) { run() }\n"
	s := gatetest.Change(t, map[string]string{"x": "x"}, map[string]string{
		"own.js":  own,
		"both.js": "import * as cp from 'child_process'\n" + own,
	})
	_, got := gatetest.Look(t, security.New(), s)
	if diff := cmp.Diff([]string{"error security/shell both.js:2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestBuiltInConformance(t *testing.T) {
	gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
		return security.New(), gatetest.Change(t, map[string]string{"x": "x"}, map[string]string{"a.py": "eval(x)\n"})
	})
}
