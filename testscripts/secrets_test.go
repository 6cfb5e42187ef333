package testscripts

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/runplan/runplan/tools/tooltest"
)

// secretKinds returns secrets of many providers. It assembles them from parts, so that no scanner reports this file
// as a leak.
func secretKinds() map[string]string {
	const letters = "aZ8kQ1mWn4Rv7LpXb2Yc9TdHs6JfGu3EoRi5NtKwVzMqBxPrDyCgAhUj0SeOlIF"
	turn := 0
	turned := func(alphabet string, n int) string { // another text for each secret
		turn += 5
		at := turn % len(alphabet)
		return strings.Repeat(alphabet[at:]+alphabet[:at], n/len(alphabet)+1)[:n]
	}
	an := func(n int) string { return turned(letters, n) }
	hex := func(n int) string { return turned("0f9a3c7e51b8d2640e8b4d7f92c6a15", n) }
	capital := func(n int) string { return strings.Repeat("QX7TRWPLK2MVNB4H", n/16+1)[:n] }
	uuid := "3f2a9c7e-51b8-4d26-9a3c-7e51b8d2640f"
	return map[string]string{
		"age":               "AGE-SECRET-" + "KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHC",
		"anthropic":         "sk-" + "ant-api03-" + an(90),
		"aws":               "AKIA" + capital(16),
		"azure client":      "abc8" + "Q~" + an(33),
		"bedrock":           "ABSK" + an(110),
		"bitbucket":         "ATBB" + an(32),
		"brevo":             "xkeysib" + "-" + hex(64) + "-" + an(16),
		"buildkite":         "bkua" + "_" + an(40),
		"circleci":          "CCIPAT" + "_" + an(40),
		"clojars":           "CLOJARS" + "_" + hex(60),
		"crates":            "cio" + an(32),
		"databricks":        "dapi" + hex(32),
		"datadog":           "ddapi" + "_" + an(34),
		"digitalocean":      "dop_v1" + "_" + hex(64),
		"discord":           "MTA4MzkyMDE3NTYzOTIwMTc1" + "." + an(6) + "." + an(30),
		"docker":            "dckr_" + "pat_" + an(27),
		"doppler":           "dp." + "pt." + an(43),
		"figma":             "figd" + "_" + an(40),
		"fly":               "fo1" + "_" + an(43),
		"flutterwave":       "FLWSECK" + "-" + hex(32) + "-X",
		"github":            "gh" + "p_" + an(36),
		"github fine":       "github" + "_pat_" + an(22) + "_" + an(59),
		"gitlab":            "glpat" + "-" + an(20),
		"google":            "AIza" + an(35),
		"google oauth":      "GOCSPX" + "-" + an(28),
		"grafana":           "glsa" + "_" + an(32) + "_" + hex(8),
		"groq":              "gsk" + "_" + an(52),
		"hugging face":      "hf" + "_" + an(34),
		"jwt":               "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + an(43),
		"langsmith":         "lsv2" + "_pt_" + hex(32) + "_" + hex(10),
		"launchdarkly":      "sdk" + "-" + uuid,
		"linear":            "lin_" + "api_" + an(40),
		"mailgun":           "key" + "-" + hex(32),
		"netlify":           "nfp" + "_" + an(36),
		"new relic":         "NRAK" + "-" + an(27),
		"notion":            "ntn" + "_" + an(46),
		"npm":               "npm" + "_" + an(36),
		"nvidia":            "nvapi" + "-" + an(64),
		"openai":            "sk-" + "proj-" + an(60),
		"openshift":         "sha256" + "~" + an(43),
		"perplexity":        "pplx" + "-" + an(48),
		"planetscale":       "pscale" + "_tkn_" + an(43),
		"postman":           "PMAK" + "-" + hex(24) + "-" + hex(34),
		"pulumi":            "pul" + "-" + hex(40),
		"pypi":              "pypi" + "-" + an(70),
		"replicate":         "r8" + "_" + an(37),
		"rubygems":          "rubygems" + "_" + hex(48),
		"sendgrid":          "SG" + "." + an(22) + "." + an(43),
		"sentry":            "sntryu" + "_" + hex(64),
		"shopify":           "shpat" + "_" + hex(32),
		"slack":             "xoxb" + "-283746592013-928374650192-" + an(24),
		"sonar":             "squ" + "_" + hex(40),
		"square":            "sq0csp" + "-" + an(43),
		"stripe":            "sk_" + "live_" + an(24),
		"supabase":          "sbp" + "_" + hex(40),
		"telegram":          "48392" + "01756:A" + an(34),
		"terraform":         an(14) + ".atlasv1" + "." + an(60),
		"twilio":            "SK" + hex(32),
		"vault":             "hvs" + "." + an(95),
		"assigned":          "DATABASE_PASSWORD=" + an(28),
		"aws secret":        "aws_secret_access_key=" + an(40),
		"password of a URL": "postgres://app:" + an(20) + "@db.example.org/app",
	}
}

// leakyAgent prints each secret in many forms, and creates files with secrets in their names if $FILES is set.
const leakyAgent = `
while read -r key; do
	echo "plain $key"
	printf '{"type":"x","text":"first\\n%s\\t%s\\"%s\\r%s\\u0022%s\\u0027"}\n' "$key" "$key" "$key" "$key" "$key"
	printf '{"text":"\\u000a%s \\u001b[31m%s"}\n' "$key" "$key"
	printf '"{\\"text\\":\\"\\\\n%s\\\\t%s\\\\\\"%s\\"}"\n' "$key" "$key" "$key"
	printf 'https://x.example/?q=%%22%s%%22 &quot;%s&quot; &#34;%s&#34;\n' "$key" "$key" "$key"
	printf 'a\033[1m%s\033[0m\n' "$key"
	printf 'u: %s .' "$key" | base64 -w0; echo
	printf '%s' "$key" | base64 -w64
done <"$KEYS"
n=0
while read -r key; do
	n=$(((n + 7) % 23 + 3))
	printf 'cut %s' "${key:0:$n}"; sleep 0.01; printf '%s\\n' "${key:$n}"; sleep 0.01; printf '%s tail\n' "$key" >&2
done <"$KEYS"
echo shipped >"done-$RUNPLAN_BATCH.txt"
`

// leakyFiles creates a file named after each secret, in a commit that is refused.
const leakyFiles = `
mkdir -p notes
while read -r key; do case $key in */*) ;; *) echo x >"notes/$key.txt" ;; esac; done <"$KEYS"
`

// TestSecretsLeaveNoTrace runs runplan with many kinds of secrets in every place that an agent or a plan has, and
// searches everything that is left.
func TestSecretsLeaveNoTrace(t *testing.T) {
	tooltest.Slow(t)
	lookAtSources(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the agent is written for bash")
	}
	kinds := secretKinds()
	if len(kinds) < 40 {
		t.Fatalf("%d kinds of secrets, want 40", len(kinds))
	}
	p := newSecretPlace(t, kinds)
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range kinds {
			if !yield(n) {
				return
			}
		}
	})

	var plan strings.Builder
	fmt.Fprintf(&plan, "# Release %s\n", kinds[names[0]])
	for batch := 0; batch*8 < len(names); batch++ {
		fmt.Fprintf(&plan, "\n## Batch %d: Ship\x1b[31m", batch+1)
		some := names[batch*8 : min(len(names), batch*8+8)]
		for _, n := range some {
			plan.WriteString(" " + kinds[n])
		}
		plan.WriteString("\n\n")
		for _, n := range some {
			fmt.Fprintf(&plan, "- [ ] Write done-%d.txt with %s\n", batch+1, kinds[n])
		}
		fmt.Fprintf(&plan, "\nThe keys are %q.\n", some)
	}
	p.write("plan.md", plan.String())
	p.write("../agent.sh", p.agent(leakyAgent))
	p.runplan(0, "parse", "plan.md")
	p.runplan(0, "parse", "--json", "plan.md")
	p.runplan(0, "check", "plan.md")
	p.runplan(0, "route", "plan.md")
	p.runplan(0, "run", "--agent", "leaky", "--mode", "headless", "--max-attempts", "1", "plan.md")
	p.runplan(0, "log")
	p.runplan(0, "status", "--json")
	p.runplan(0, "training", "pairs", "--out", filepath.Join(p.dir, "data"))
	p.look("output and titles", func(string) bool { return true })
	p.search("objects", p.command(0, "git", "cat-file", "--batch-all-objects", "--batch"))
	progress, err := os.ReadFile(filepath.Join(p.repo, ".runplan", "progress.txt"))
	if err != nil || !strings.Contains(string(progress), "[redacted GITHUB_TOKEN]") ||
		strings.ContainsFunc(string(progress), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		t.Errorf("progress.txt (%v) has control codes, or does not say that a token of GitHub stood there:\n%s", err,
			progress)
	}
	logs, err := filepath.Glob(filepath.Join(p.repo, ".runplan", "logs", "*", "*", "agent.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log of the agent (%v)", err)
	}
	if log, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(log), "[redacted VAULT_TOKEN]") {
		t.Errorf("the log of the agent (%v) does not say that a token of Vault stood there\n%s", err, log)
	}

	p.write("plan.md", "# Notes\n\n## Batch 1: Take notes\n\nWrite notes.\n")
	p.write("../agent.sh", p.agent(leakyFiles))
	p.runplan(1, "run", "--agent", "leaky", "--mode", "headless", "--max-attempts", "1", "plan.md")
	p.runplan(0, "log")
	p.runplan(0, "status", "--json")
	p.runplan(0, "training", "pairs", "--out", filepath.Join(p.dir, "data2"))
	// The agent's own files are in the worktree of the failed attempt, under their own names.
	p.look("file names", func(path string) bool { return !strings.Contains(path, "/.runplan/worktrees/") })
}

// secretPlace is a repository and a home folder with an agent that leaks secrets.
type secretPlace struct {
	t     *testing.T
	dir   string
	repo  string
	env   []string
	kinds map[string]string
	said  bytes.Buffer // what all commands printed
}

func newSecretPlace(t *testing.T, kinds map[string]string) *secretPlace {
	t.Helper()
	dir := t.TempDir()
	p := &secretPlace{t: t, dir: dir, repo: filepath.Join(dir, "repo"), kinds: kinds}
	for _, sub := range []string{"repo", "home/runplan", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	p.env = []string{
		"PATH=" + program + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "RUNPLAN_HOME=" +
			filepath.Join(home, "runplan"),
		"TMPDIR=" + filepath.Join(dir, "tmp"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" +
			filepath.Join(home, ".gitconfig"),
		"LANG=C.UTF-8", "NO_COLOR=1", "TERM=dumb", "RUNPLAN_TRUST=all",
	}
	var keys strings.Builder
	for _, key := range kinds {
		keys.WriteString(key + "\n")
	}
	p.write("../keys", keys.String())
	p.write("../home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	p.write("../home/runplan/config.toml",
		fmt.Sprintf("[agents.leaky]\ncommand = [\"bash\", %q]\n", filepath.Join(dir, "agent.sh")))
	p.write(".gitignore", "plan.md\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message=start"}} {
		p.command(0, "git", args...)
	}
	return p
}

// agent returns a bash script with the file of the secrets in $KEYS, because agents get only a few variables of the
// user.
func (p *secretPlace) agent(text string) string {
	return fmt.Sprintf("set -eu\nKEYS=%q\n%s", filepath.Join(p.dir, "keys"), text)
}

func (p *secretPlace) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.repo, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// command runs a program in the repository and returns what it printed.
func (p *secretPlace) command(want int, name string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	if name == "runplan" {
		cmd = exec.Command(filepath.Join(program, "runplan"+exe()), args...)
	}
	cmd.Dir, cmd.Env = p.repo, p.env
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want {
		p.t.Fatalf("%s %v: exit %d (%v), want %d\n%s", name, args[:1], code, err, want, out)
	}
	return string(out)
}

// runplan runs a command whose output must not contain a secret either.
func (p *secretPlace) runplan(want int, args ...string) {
	p.t.Helper()
	fmt.Fprintf(&p.said, "%s\n%s\n", args[0], p.command(want, "runplan", args...))
}

// look searches everything that a run leaves.
func (p *secretPlace) look(what string, where func(path string) bool) {
	p.t.Helper()
	p.search(what+": printed", p.said.String())
	searched := 0
	for _, root := range []string{filepath.Join(p.repo, ".runplan"), filepath.Join(p.dir, "home", "runplan"),
		filepath.Join(p.dir, "data"), filepath.Join(p.dir, "data2"), filepath.Join(p.dir, "tmp")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if os.IsNotExist(err) {
					return nil
				}
				return err
			}
			if !where(filepath.ToSlash(path)) {
				return nil
			}
			p.search(what+": the name of "+path, d.Name())
			if !d.Type().IsRegular() {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			searched++
			p.search(what+": "+path, string(text))
			if strings.HasSuffix(path, ".sqlite") {
				p.tables(what, path)
			}
			return nil
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if searched < 10 {
		p.t.Fatalf("%s: only %d files were found to search", what, searched)
	}
	p.search(what+": commits", p.command(0, "git", "log", "--all", "--format=%an %cn %B", "--name-only", "-p"))
	p.search(what+": refs", p.command(0, "git", "for-each-ref"))
	p.pages(what)
}

// search reports the secrets that a text holds, in clear or in base64.
func (p *secretPlace) search(where, text string) {
	p.t.Helper()
	if len(text) > 0 && strings.Contains(text, "\x00") {
		text += strings.ReplaceAll(text, "\x00", "") // text in UTF-16
	}
	for kind, key := range p.kinds {
		value := key
		if _, v, ok := strings.Cut(key, "="); ok && kind != "password of a URL" {
			value = v // the name in front may stay
		}
		if kind == "password of a URL" {
			u, err := url.Parse(key)
			if err != nil {
				p.t.Fatal(err)
			}
			value, _ = u.User.Password()
		}
		// Two characters at each end depend on the adjacent text.
		coded := base64.StdEncoding.EncodeToString([]byte("u: " + key))[4+8:]
		for form, needle := range map[string]string{"in clear": value, "in base64": coded[:min(len(coded)-4, 24)]} {
			if at := strings.Index(text, needle); at >= 0 {
				p.t.Errorf("%s holds the secret of kind %q %s: …%q", where, kind, form,
					strings.ReplaceAll(text[max(0, at-60):at], "\n", " "))
			}
		}
	}
}

// tables searches all values of a database.
func (p *secretPlace) tables(what, path string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	column := func(query string) (out []string) {
		rows, err := db.Query(query)
		if err != nil {
			return nil // a virtual table without its module
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			p.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(sql.RawBytes)
			}
			if err := rows.Scan(values...); err != nil {
				p.t.Fatal(err)
			}
			for _, v := range values {
				out = append(out, string(*v.(*sql.RawBytes)))
			}
		}
		return out
	}
	for _, table := range column("SELECT name FROM sqlite_master WHERE type = 'table'") {
		for _, value := range column(`SELECT * FROM "` + table + `"`) {
			p.search(what+": table "+table+" of "+path, value)
		}
	}
}

var pageLink = regexp.MustCompile(`(?:href|src)="(/[^"#]*)"`)

// pages searches all responses of the server.
func (p *secretPlace) pages(what string) {
	p.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(program, "runplan"+exe()), "serve")
	cmd.Dir, cmd.Env = p.repo, p.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer func() { stop(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	first, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		p.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	client := http.Client{Timeout: patience, Jar: jar}
	seen := map[string]bool{}
	next := []string{first.RequestURI(), "/"}
	for len(next) > 0 && len(seen) < 400 {
		at := next[0]
		next = next[1:]
		if seen[at] || strings.Contains(at, "events") || strings.Contains(at, "stream") {
			continue
		}
		seen[at] = true
		res, err := client.Get("http://" + first.Host + at)
		if err != nil {
			p.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			p.t.Fatal(err)
		}
		p.search(what+": page "+at, string(text))
		for _, m := range pageLink.FindAllStringSubmatch(string(text), -1) {
			next = append(next, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	if len(seen) < 5 {
		p.t.Errorf("%s: only %d pages were found", what, len(seen))
	}
}
