package secrets

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

// The keys are concatenated here, so that no scanner reports this file as a leak.
var (
	aws    = "AKIA" + "Z7QWERT5PLMK2VNB"
	github = "ghp_" + "q8Zr2LkV0mXw9TbYc4NfHs7JdPu1Ga6EoR3i"
	slack  = "xoxb-" + "283746592013-928374650192-aZ8kQ1mWn4Rv"
	google = "AIza" + "SyB9xK2mQ7vT4wLr8Zp1NcY6hDf3GjU0sEa"
	stripe = "sk_live_" + "9aKq2ZxW7mTr4VbN8yLp"
	openai = "sk-proj-" + "Zk8Qw2Xr9Lm4Tv7Bn1Yc6Hd3Gf"
	npm    = "npm_" + "a8Kq2ZxW7mTr4VbN8yLpQ3sD6fGhJ1kLzXcV"
	jwt    = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiI0OTE3MjMifQ" + ".Zk8Qw2Xr9Lm4Tv7Bn1Yc6Hd3Gf"
	pem    = "-----BEGIN RSA " + "PRIVATE KEY-----"
	random = "vT4wLr8Zp1" + "NcY6hDf3GjU0"
)

func TestSecrets(t *testing.T) {
	cases := map[string]struct {
		file, line string
		want       string // "" for nothing
	}{
		"aws":                        {"a.go", `key := "` + aws + `"`, "error secrets/aws-key"},
		"github":                     {"a.py", "T = '" + github + "'", "error secrets/github-token"},
		"slack":                      {"a.sh", "curl -H " + slack, "error secrets/slack-token"},
		"google":                     {"a.js", google, "error secrets/google-key"},
		"stripe":                     {"a.rb", stripe, "error secrets/stripe-key"},
		"stripe's test key":          {"a.rb", strings.Replace(stripe, "live", "test", 1), "warning secrets/stripe-key"},
		"openai":                     {"README.md", openai, "error secrets/openai-key"},
		"npm":                        {".npmrc", "//registry.npmjs.org/:_authToken=" + npm, "error secrets/npm-token"},
		"a private key":              {"k.pem", pem, "error secrets/private-key"},
		"a private key of a fixture": {"testdata/k.pem", pem, "info secrets/private-key"},
		"jwt":                        {"a.ts", jwt, "error secrets/jwt"},
		"a password in a URL": {"a.yml", "url: postgres://app:" + random + "@db7.acme.io/x",
			"error secrets/url-password"},
		"an assignment":         {"a.go", `dbPassword = "` + random + `"`, "error secrets/assignment"},
		"an assignment in JSON": {"a.json", `{"client_secret": "` + random + `"}`, "error secrets/assignment"},
		"an assignment in .env": {".env.example", "API_TOKEN=" + random, "error secrets/assignment"},
		"a bare word in code":   {"a.go", "token := newTokenFromTheEnv4711(x)", ""},

		"AWS's own example":       {"a.go", "AKIA" + "IOSFODNN7EXAMPLE", ""},
		"a placeholder":           {"a.go", `password` + ` = "changeme-1234"`, ""},
		"stars":                   {"a.yml", "token: ghp_" + strings.Repeat("x", 36), ""},
		"zeros":                   {"a.yml", "token: ghp_" + strings.Repeat("0", 36), ""},
		"from the environment":    {"a.py", `password = os.environ["DB_PASSWORD_4711"]`, ""},
		"a shell variable":        {"a.yml", "password: ${DB_PASSWORD_4711}", ""},
		"a workflow's secret":     {"a.yml", "token: ${{ secrets.GITHUB_TOKEN_4711 }}", ""},
		"a word":                  {"a.py", `token_type = "authorization_code"`, ""},
		"camel case":              {"a.ts", `secretName: "databaseCredentials"`, ""},
		"a weak password":         {"a.py", `password="password"`, ""},
		"a URL of a compose file": {"a.yml", "DATABASE_URL: postgres://postgres:postgres@db:5432/app", ""},
		"a URL of an example":     {"a.md", "https://user:s3cr3tPass1@example.com/", ""},
		"a fixture":               {"testdata/a.json", `{"password": "` + random + `"}`, ""},
		"a lock file":             {"package-lock.json", `"token": "` + random + `"`, ""},
		"a css class":             {"a.css", ".sk-loading-spinner-container-wide { }", ""},
		"a hash":                  {"a.txt", "digest: sha256:9f86d081884c7d659a2feaa0c55ad015", ""},
		"max tokens":              {"a.py", "max_tokens: 4096", ""},

		"a private address for clients": {"web/src/App.tsx", `fetch("http://10.20.30.40:8080/api")`,
			"error secrets/private-host"},
		"an internal host for clients": {"public/index.html", `<script src="https://cdn.acme.internal/x.js">`,
			"error secrets/private-host"},
		"a private address, perhaps a client's": {"src/a.ts", `const u = "192.168.1.7"`, "warning secrets/private-host"},
		"a private address of the server":       {"server/a.ts", `const u = "192.168.1.7"`, ""},
		"a private address in Go":               {"a.go", `u := "192.168.1.7"`, ""},
		"localhost": {"web/a.js", `fetch("http://localhost:3000"); fetch("http://127.0.0.1")`,
			""},
		"a version": {"web/a.js", `const version = "10.2.3.4"`, ""},

		"a guess is suppressed": {"a.go", `password = "` + random +
			`" // runplan:ignore secrets made up for the demo`, "warning secrets/suppressed"},
		"a guess is not, without reason": {"a.go", `password = "` + random + `" // runplan:ignore secrets`,
			"error secrets/assignment"},
		"a key of a known shape is never": {"a.go", `k = "` + github + `" // runplan:ignore secrets it is fine, trust me`,
			"error secrets/github-token"},
		"another rule is suppressed": {"a.go", `password = "` + random + `" // runplan:ignore lessons x y z`,
			"error secrets/assignment"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gatetest.Change(t, map[string]string{"old": "x\n", c.file: "first\n"},
				map[string]string{c.file: "first\n" + c.line + "\n"})
			rep, got := gatetest.Look(t, New(), s)
			var want []string
			if c.want != "" {
				want = []string{c.want + " " + c.file + ":2"}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s\n-want +got:\n%s\n%+v", c.line, d, rep.Findings)
			}
			for _, f := range rep.Findings {
				for _, secret := range []string{aws, github, slack, google, stripe, openai, npm, jwt, random} {
					if strings.Contains(f.Message+f.Fix, secret[:8]) {
						t.Errorf("the finding tells the secret: %+v", f)
					}
				}
			}
		})
	}
}

func TestOldSecretsAreIgnored(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"a.go": aws + "\nx\n"}, map[string]string{"a.go": "x\n" + aws + "\ny\n"})
	if _, got := gatetest.Look(t, New(), s); len(got) > 0 {
		t.Error(got)
	}
}

func TestSecretFiles(t *testing.T) {
	s := gatetest.Change(t, nil,
		map[string]string{".env": "DB_PASSWORD=x\n", ".env.example": "DB_PASSWORD=\n", "deploy/id_rsa": "x",
			"web/.env.production": "MODE=fast\n", "a.p12": "x"})
	_, got := gatetest.Look(t, New(), s)
	want := []string{"error secrets/file .env", "error secrets/file a.p12", "error secrets/file deploy/id_rsa"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A user's ignore comment turns the finding of a key into a warning, whether or not the plan contains the line.
func TestIgnoreCommentTurnsFindingIntoWarning(t *testing.T) {
	line := `k = "` + github + `" // runplan:ignore secrets revoked, kept for the test`
	s := gatetest.Change(t, nil, map[string]string{"a.go": line + "\n"})
	s.Batch.Blocks = []planparse.Block{{Kind: planparse.BlockFile, Path: "a.go", Text: line + "\n"}}
	_, inPlan := gatetest.Look(t, New(), s)
	s.Batch = planparse.Batch{}
	_, alone := gatetest.Look(t, New(), s)
	want := []string{"warning secrets/suppressed a.go:1"}
	if !slices.Equal(inPlan, want) || !slices.Equal(alone, want) {
		t.Errorf("in the plan %v, alone %v", inPlan, alone)
	}
}

func TestUTF16(t *testing.T) {
	wide := "\xff\xfe"
	for _, b := range []byte("k = " + aws + "\n") {
		wide += string([]byte{b, 0})
	}
	s := gatetest.Change(t, nil, map[string]string{"a.txt": wide})
	if _, got := gatetest.Look(t, New(), s); !slices.Equal(got, []string{"error secrets/aws-key a.txt:1"}) {
		t.Error(got)
	}
}

func TestConformance(t *testing.T) {
	gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
		return New(), gatetest.Change(t, nil,
			map[string]string{"a.go": "\x1b[31m" + aws + "\n", "b": strings.Repeat(github+" ", 2000)})
	})
}

// For any line, the message of a finding does not contain the secret.
func FuzzLine(f *testing.F) {
	for _, l := range []string{aws, github, slack, google, stripe, openai, npm, jwt, pem, `password: "` + random + `"`,
		"a://b:" + random + "@c", "http://10.0.0.1 runplan:ignore secrets x"} {
		f.Add("web/a.tsx", l)
		f.Add(".env", l)
	}
	f.Fuzz(func(t *testing.T, file, line string) {
		for _, h := range placeOf(file).line(line) {
			got := h.finding(gates.Subject{}, file, gates.Line{Number: 1, Text: line})
			if h.rule != "private-host" && h.rule != "private-key" && len(h.value) > 12 &&
				strings.Contains(strings.TrimSuffix(got.Message, h.reason), h.value) {
				t.Errorf("%q is told in %q", h.value, got.Message)
			}
		}
	})
}

// The gate checks the name of a new file like its lines, and finds secrets behind escapes and base64.
func TestFileNamesAndEscapes(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"old": "x\n"}, map[string]string{
		"keys/" + github + ".txt": "x\n",
		"a.json":                  `{"text": "first\n` + github + `"}` + "\n",
		"b.txt":                   base64.StdEncoding.EncodeToString([]byte("u: "+github+" .")) + "\n",
	})
	_, got := gatetest.Look(t, New(), s)
	slices.Sort(got)
	want := []string{"error secrets/file-name keys/" + github + ".txt", "error secrets/github-token a.json:1",
		"error secrets/github-token b.txt:1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
