package lessons

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func builtInLibrary(t testing.TB) *Library {
	t.Helper()
	lib, err := Load(BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func scanner(t testing.TB, lib []*Lesson, o Options) *Scanner {
	t.Helper()
	s, err := NewScanner(lib, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sampleName returns a file name for code in the given language.
func sampleName(language string) string {
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); words[0] == language {
			return strings.Replace(words[1], "*", "sample", 1)
		}
	}
	return "sample.txt"
}

// The built-in lessons have no errors, and are the same when they are read without a search for errors.
func TestBuiltInLessonsHaveNoErrors(t *testing.T) {
	checked := BuiltIn()
	checked.tested = false
	want, err := Load(checked)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, builtInLibrary(t), cmpopts.IgnoreUnexported(Lesson{})); diff != "" {
		t.Errorf("-checked +fast:\n%s", diff)
	}
}

// The built-in library contains complete lessons whose ids count up from 0001.
func TestBuiltInLibrary(t *testing.T) {
	lib := builtInLibrary(t)
	if len(lib.Lessons) == 0 {
		t.Fatal("the library has no lessons")
	}
	for i, l := range lib.Lessons {
		if want := fmt.Sprintf("%04d", i+1); l.ID != want {
			t.Errorf("%s has the id %s, want %s", l.Path, l.ID, want)
		}
		if l.Example.Bad == "" || l.Example.Good == "" || l.Example.Bad == l.Example.Good {
			t.Errorf("%s has no pair of examples", l.Path)
		}
		for _, heading := range []string{"## Observation\n", "## Why it happens\n", "## What to do instead\n"} {
			if !strings.Contains(l.Body, heading) {
				t.Errorf("%s has no part %q", l.Path, heading)
			}
		}
	}
}

// A syntactic lesson finds its bad example and not its good one. Another lesson may find the bad example too, but
// only if one of the two texts names the other lesson.
func TestLessonsFindBadExamples(t *testing.T) {
	lib := builtInLibrary(t)
	s := scanner(t, lib.Lessons, Options{})
	for _, l := range lib.Lessons {
		name := sampleName(l.Languages[0])
		bad, good := s.Source(name, []byte(l.Example.Bad)), s.Source(name, []byte(l.Example.Good))
		found := false
		for _, h := range bad.Hits {
			found = found || h.ID == l.ID
			if h.ID != l.ID && !strings.Contains(l.Body, h.ID) && !strings.Contains(h.Lesson.Body, l.ID) {
				t.Errorf("%s: the bad example is also found by %s: %s", l.Path, h.ID, h.Text)
			}
		}
		if want := l.Pattern.Type == Syntactic; found != want {
			t.Errorf("%s: bad example found: %v, want %v", l.Path, found, want)
		}
		for _, h := range good.Hits {
			t.Errorf("%s: the good example is found by %s: %s", l.Path, h.ID, h.Text)
		}
	}
}

// Each lesson finds further bad examples, and not the similar code that is correct.
func TestLessonsFindFurtherExamples(t *testing.T) {
	lib := builtInLibrary(t)
	s := scanner(t, lib.Lessons, Options{})
	for id, c := range map[string]struct {
		file      string
		bad, good []string
	}{
		"0001": {"a.py", []string{
			"try:\n    f()\nexcept:\n    pass\n", "try: f()\nexcept Exception as e: pass\n",
			"    except (Exception):\n        ...\n",
			"except BaseException:  # all\n    continue\n",
		}, []string{
			"try:\n    f()\nexcept KeyError:\n    pass\n", "except Exception:\n    log.exception('x')\n",
			"except Exception:\n    pass_on()\n", "# except: pass by\n",
		}},
		// runplan:ignore 0004 samples of it
		"0004": {"a.py", []string{"assert result.count == 120\n", "    assert total() == 42\n",
			"self.assertEqual(report.total, 137)\n"},
			[]string{"assert count == 2\n", "assert total == len(rows)\n", "assert discount_rate == x\n"}},
		"0005": {"a.py", []string{"with sqlite3.connect(p) as db:\n", "rows = sqlite3.connect('x.db').execute(q)\n"},
			[]string{"with closing(sqlite3.connect(p)) as db:\n", "db = sqlite3.connect(p)\n"}},
		"0006": {"a.sh", []string{"venv/bin/pip3 install x\n", "\"$VIRTUAL_ENV\"/bin/pip install x\n",
			"/opt/env/bin/pip3.12 install x\n"},
			[]string{".venv/bin/python -m pip install x\n", "pip install x\n", ".venv/bin/pip --version\n"}},
		"0010": {"a.sh", []string{"local x=1\n", "local -r y=2\n", "local z\n"},
			[]string{"f() {\n  local x=1\n}\n", "locale -a\n", "localhost=1\n"}},
		"0013": {"a.sh", []string{"V=$(grep '^KEY' .env | cut -d '=' -f2)\n", "cat .env.local | grep K | cut -d= -f2-\n",
			"while IFS== read -r key value; do\n", "while IFS='=' read k v; do\n"},
			[]string{"cut -d: -f2 /etc/passwd\n", "sort x.csv | cut -d= -f2\n", "while IFS= read -r line; do\n"}},
		"0019": {"app.service", []string{"EnvironmentFile=/etc/app/env.sh\n", "EnvironmentFile=-/home/app/.bashrc\n"},
			[]string{"EnvironmentFile=/etc/app/env\n", "Environment=A=b\n"}},
		"0022": {"a.jsx", []string{"xs.map((h, i) => <li key={i}>{h}</li>)\n", "xs.map(h => (\n  <li>{h}</li>\n))\n",
			"xs.map(h => { return <b>{h}</b> })\n"},
			[]string{"xs.map(h => h.name)\n", "xs.map(host => <li>{host}</li>)\n", "xs.filter(h => h < 3)\n"}},
		"0027": {"a.tsx", []string{"<input type=\"text\" onchange={f} />\n", "<div id={x()} classname={c}>\n",
			"<label htmlfor={id}>\n"}[:1],
			[]string{"<input onChange={f} />\n", "<div className={c}>\n", "el.onclick = f\n", "const maxlength={a}\n"}},
		"0028": {"a.ts", []string{"fetch('http://api.corp:80/x')\n", "const u = `wss://feed.lan/socket`\n"},
			[]string{"fetch('/api/x')\n", "const u = 'http://localhost:3000'\n",
				"const u = 'https://example.com/a.internal.html'\n"}},
		"0029": {"a.yaml", []string{"api_key: \"abcdefgh1234567\"\n", "x: AKIA" + "ABCDEFGHIJKLMNOP\n",
			"\"client_secret\": \"Zx9kfjw03jfkw93\"\n", "[AKIA" + "IOSFODNN7EXAMPLE, AKIA" + "ABCDEFGHIJKLMNOP]\n",
			"-----BEGIN " + "RSA PRIVATE KEY-----\n"},
			[]string{"api_key: \"${API_KEY}\"\n", "password: \"your-password-here\"\n",
				"secret: \"{{ vault.secret1234567 }}\"\n", "token_count: \"1234567890123\"\n",
				"x: AKIA" + "IOSFODNN7EXAMPLE\n", "aws_secret_access_key: \"wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY\"\n"}},
		"0033": {"a.py", []string{"for k, v in self.jobs.items():\n    x = 1\n    await v.stop()\n",
			"    async for c in self.conns:\n        await c.ping()\n"},
			[]string{"for k in self.jobs:\n    k.stop()\n", "for k in sorted(self.jobs):\n    await k.stop()\n"}},
		"0038": {"a.js", []string{"  store.subscribe(() => render());\n", "bus.subscribe('x', async (e) => go(e));\n",
			"source$.subscribe(v => log(v));\n"},
			[]string{"const sub = store.subscribe(() => render());\n", "return store.subscribe(() => 1);\n",
				"store.subscribe(this.onChange);\n"}},
		// runplan:ignore 0043 samples of it
		"0043": {"a.ts", []string{"expect(registry.size).toBe(12)\n", "expect(Object.keys(handlers).length).toBe(3)\n",
			"expect(app.plugins).toHaveLength(4)\n"},
			[]string{"expect(parts).toHaveLength(2)\n", "expect(plugins).toContain('a')\n"}},
	} {
		for _, text := range c.bad {
			if r := s.Source(c.file, []byte(text)); !hits(r, id) {
				t.Errorf("%s does not find %q", id, text)
			}
		}
		for _, text := range c.good {
			if r := s.Source(c.file, []byte(text)); hits(r, id) {
				t.Errorf("%s finds %q", id, text)
			}
		}
	}
}

func hits(r Result, id string) bool {
	return slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.ID == id })
}

// The addresses are assembled from parts, because the lesson would otherwise find them in this file.
func TestAddressLesson(t *testing.T) {
	s := scanner(t, builtInLibrary(t).Lessons, Options{})
	for host, want := range map[string]bool{"10.0.0.7": true, "192.168.1.20": true, "8.8.8.8": true, "127.0.0.1": false,
		"0.0.0.0": false, "254.1.2.3": true} {
		if got := hits(s.Source("a.js", []byte("fetch('http://"+host+":80/')\n")), "0028"); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

// Lessons apply to any code base: they contain no names, addresses or dates of the project in which they were
// learned.
func TestLessonsAreUniversal(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		"an IP address":    regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`),
		"an e-mail":        regexp.MustCompile(`[\w.+-]+@[\w-]+\.[a-z]{2,}`),
		"a host name":      regexp.MustCompile(`(?i)\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ai|de|uk|local|lan|internal|corp|cloud|home|arpa)\b`),
		"an address":       regexp.MustCompile(`(?i)\b(?:https?|wss?|ssh|git)://[a-z0-9]`),
		"a home folder":    regexp.MustCompile(`/(?:home|Users)/\w+|C:\\Users`),
		"an issue":         regexp.MustCompile(`(?:^|\s)#\d+\b|\b[A-Z]{2,}-\d+\b`),
		"a commit":         regexp.MustCompile(`\b[0-9a-f]{40}\b`),
		"a person":         regexp.MustCompile(`(?:^|\s)@[a-z][\w-]+\b|\b(?:Mr|Mrs|Dr)\. [A-Z]`),
		"a repository":     regexp.MustCompile(`\b(?:github|gitlab|bitbucket)\b`),
		"a date":           regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`),
		"a MAC address":    regexp.MustCompile(`\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`),
		"a product's name": regexp.MustCompile(`(?i)\b(?:runplan|slack|telegram|discord|jira|home assistant|aws|azure|gcp|openai|anthropic|claude|gpt|gemini|ollama)\b`),
	}
	// These matches are harmless: names reserved for examples, and decorators in code.
	allowed := regexp.MustCompile(`\b[\w.-]*example\.internal\b|@(?:app|register)\b|https://orders`)
	for _, l := range builtInLibrary(t).Lessons {
		text := strings.Join([]string{l.Title, l.Pattern.Description, l.Fix, l.Example.Bad, l.Example.Good, l.Body}, "\n")
		text = allowed.ReplaceAllString(text, "")
		for what, re := range forbidden {
			if m := re.FindString(text); m != "" {
				t.Errorf("%s has %s in it: %q", l.Path, what, m)
			}
		}
	}
}

func TestGet(t *testing.T) {
	lib := builtInLibrary(t)
	for _, id := range []string{"29", "0029"} {
		if l, ok := lib.Get(id); !ok || l.ID != "0029" {
			t.Errorf("%s: %v", id, l)
		}
	}
	if _, ok := lib.Get("9999"); ok {
		t.Error("9999 is there")
	}
}

// A glob with a slash matches the whole path, also if it follows globs that match only the file name.
func TestExcludeMatchesNamesAndFolders(t *testing.T) {
	l := Lesson{Exclude: []string{"test_*.py", "**/{test,tests}/**"}}
	for path, want := range map[string]bool{
		"test_a.py": true, "src/test_a.py": true, "tests/flask_tests.py": true, "a/test/b.py": true,
		"a.py": false, "src/tests.py": false,
	} {
		if got := l.excludes(path); got != want {
			t.Errorf("%s: excluded is %t, want %t", path, got, want)
		}
	}
}
