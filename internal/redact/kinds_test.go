package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/literal"
)

// fillText returns n characters of an alphabet, without much repetition.
func fillText(alphabet string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(alphabet[(i*i*7+i*11+3)%len(alphabet)])
	}
	return b.String()
}

// samples returns invented tokens by kind. They are concatenated here, so that no scanner reports this file as a
// leak.
func samples() map[string]string {
	an := "aZ8kQ1mWn4Rv7LpXb2Yc9TdHs6JfGu3EoRi5NtKwVzMqBxPrDyCgAhUj0SeOlIF"
	up, hx, lo := strings.ToUpper(an), "0f9a3c7e51b8d264", strings.ToLower(an)
	f := fillText
	id := f(hx, 8) + "-" + f(hx, 4) + "-" + f(hx, 4) + "-" + f(hx, 4) + "-" + f(hx, 12)
	return map[string]string{
		"huggingface": "hf_" + f(an, 34), "sendgrid": "SG" + "." + f(an, 22) + "." + f(an, 43), "digitalocean": "dop_v1_" +
			f(hx, 64),
		"doppler": "dp.pt." + f(an, 43), "telegram": "4839" + "201756:AA" + f(an, 33), "aws id": "AKIA" +
			f("QWERTYUIOPASDFGHJKLZXCVBNM234567", 16),
		"aws session id": "ASIA" + f("QWERTYUIOPASDFGHJKLZXCVBNM234567", 16), "github": "ghp_" + f(an, 36),
		"github app":  "ghs_" + f(an, 36),
		"github fine": "github_pat_" + f(an, 22) + "_" + f(an, 59), "gitlab": "glpat-" + f(an, 20), "gitlab runner": "glrt-" +
			f(an, 20),
		"slack bot": "xoxb-" + "283746592013-928374650192-" + f(an, 24), "slack app": "xapp-" + "1-A0" + f(up, 9) + "-8372-" +
			f(hx, 40),
		"slack hook":        "https://hooks." + "slack.com/services/T0" + f(up, 8) + "/B0" + f(up, 8) + "/" + f(an, 24),
		"stripe":            "sk_live_" + f(an, 24),
		"stripe restricted": "rk_live_" + f(an, 24), "openai": "sk-" + f(an, 48), "openai project": "sk-proj-" + f(an, 60),
		"anthropic": "sk-ant-api03-" + f(an, 90),
		"google":    "AIza" + f(an, 35), "google client": "GOCSPX-" + f(an, 28), "google access": "ya29." + f(an, 60),
		"azure storage": "AccountKey=" + f(an, 86) + "==", "azure client": f(an, 3) + "8Q~" + f(an, 34), "npm": "npm_" +
			f(an, 36), "pypi": "pypi-AgEIcHlwaS5vcmc" + f(an, 60),
		"rubygems": "rubygems_" + f(hx, 48), "crates": "cio" + f(an, 32), "docker": "dckr_pat_" + f(an, 27),
		"heroku": "HRKU-AA" + f(an, 58), "heroku id": "HEROKU_API_KEY=" + id,
		"twilio": "SK" + f(hx, 32), "mailgun": "key-" + f(hx, 32), "mailchimp": f(hx, 32) + "-us12", "shopify": "shpat_" +
			f(hx, 32), "square": "sq0atp-" + f(an, 22),
		"linear": "lin_api_" + f(an, 40), "notion": "ntn_" + f(an, 46), "figma": "figd_" + f(an, 40), "databricks": "dapi" +
			f(hx, 32), "vault": "hvs." + f(an, 95),
		"terraform": f(an, 14) + ".atlasv1." + f(an, 64), "grafana": "glsa_" + f(an, 32) + "_" + f(hx, 8),
		"grafana cloud": "glc_" + f(an, 60), "new relic": "NRAK-" + f(up, 27),
		"datadog": "DD_API_KEY=" + f(hx, 32), "sentry": "sntryu_" + f(hx, 64), "discord": "MTE" + f(an, 23) + "." + f(an, 6) +
			"." + f(an, 38),
		"discord hook": "https://discord" + ".com/api/webhooks/837465920183746592/" + f(an, 68), "age": "AGE-SECRET-KEY-" +
			"1" + f("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
		"jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiI0OTE3MjMifQ." + f(an, 43), "planetscale": "pscale_tkn_" + f(an, 43),
		"pulumi":  "pul-" + f(hx, 40),
		"postman": "PMAK-" + f(hx, 24) + "-" + f(hx, 34), "brevo": "xkeysib-" + f(hx, 64) + "-" + f(an, 16),
		"airtable":  "pat" + f(an, 14) + "." + f(hx, 64),
		"atlassian": "ATATT3" + f(an, 180), "fly": "fo1_" + f(an, 43), "dynatrace": "dt0c01." + f(up, 24) + "." + f(up, 64),
		"alibaba":    "LTAI" + f(an, 20),
		"aws secret": "aws_secret_access_key = " + f(an, 40), "aws secret in JSON": `"SecretAccessKey": "` + f(an, 40) + `"`,
		"url":     "postgres://app:" + f(an, 16) + "@db7.acme.io/x",
		"generic": `client_secret = "` + f(an, 32) + `"`, "generic bare": "DEPLOY_PASSWORD=" + f(an, 24), "groq": "gsk_" +
			f(an, 52), "nuget": "oy2" + f(lo, 43),
	}
}

// secretOf returns the part of a sample that must not appear in any output.
func secretOf(sample string) string {
	for _, sep := range []string{" = ", `": "`, "KEY=", "WORD=", "Key=", "app:"} {
		if _, rest, ok := strings.Cut(sample, sep); ok {
			rest, _, _ = strings.Cut(strings.Trim(rest, `"`), "@")
			return strings.TrimRight(rest, "=")
		}
	}
	return sample
}

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func inJSON(s string) string { return jsonText(s)[1 : len(jsonText(s))-1] }

// Each kind of secret is hidden in each form in which agents print text.
func TestEachSecretKindIsHidden(t *testing.T) {
	r := New(nil)
	if n := len(samples()); n < 40 {
		t.Fatalf("%d samples", n)
	}
	forms := map[string]func(string) string{
		"plain":           func(s string) string { return "see " + s + " there" },
		"behind \\n":      func(s string) string { return jsonText("first\n" + s + "\nlast") },
		"behind \\t":      func(s string) string { return jsonText("first\t" + s + "\tlast") },
		"behind a quote":  func(s string) string { return jsonText(`say "` + s + `"`) },
		"behind \\u000a":  func(s string) string { return `"a\u000a` + inJSON(s) + `\u000ab"` },
		"JSON in JSON":    func(s string) string { return jsonText(jsonText("a\n" + s + "\n")) },
		"slashes escaped": func(s string) string { return strings.ReplaceAll(jsonText("a\n"+s), "/", `\/`) },
		"first escaped":   func(s string) string { return `"\n` + fmt.Sprintf(`\u%04x`, s[0]) + inJSON(s[1:]) + `"` },
		"in a URL":        func(s string) string { return "https://acme.io/?q=" + url.PathEscape(" "+s+" ") },
		"in HTML": func(s string) string {
			return "<p>" + strings.NewReplacer(`"`, "&#34;", "&", "&amp;").Replace(s) + "</p>"
		},
		"coloured":         func(s string) string { return "a\x1b[31m" + s + "\x1b[0m" },
		"colours in JSON":  func(s string) string { return `"a\u001b[31m` + inJSON(s) + `\u001b[0m"` },
		"zero width":       func(s string) string { return s[:5] + "\u200b" + s[5:] },
		"base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte("login " + s + " end")) },
		"base64 shifted":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u: " + s + " .")) },
		"base64 of a pair": func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+s)) },
		"base64 wrapped": func(s string) string {
			b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some words, ", 5) + s + strings.Repeat(" more", 20)))
			var out strings.Builder
			for ; len(b) > 76; b = b[76:] {
				out.WriteString(b[:76] + "\n")
			}
			return out.String() + b + "\n"
		},
		"base64 behind \\n": func(s string) string {
			return `"a\n` + base64.StdEncoding.EncodeToString([]byte("x "+s)) +
				`\n"`
		},
		"hexadecimal": func(s string) string { return hex.EncodeToString([]byte("x " + s)) },
	}
	for kind, s := range samples() {
		for form, write := range forms {
			if form == "base64 of a pair" && strings.Contains(s, "://") || form == "zero width" && secretOf(s) != s {
				continue
			}
			text := write(s)
			got := r.String(text)
			if strings.Contains(got, secretOf(s)) || got == text {
				t.Errorf("%s, %s: %q is %q", kind, form, text, got)
			}
			if strings.HasPrefix(text, `"`) && !json.Valid([]byte(got)) {
				t.Errorf("%s, %s: %q is no JSON any more", kind, form, got)
			}
		}
	}
}

// Text that only resembles a secret is not hidden.
func TestSimilarTextIsKept(t *testing.T) {
	r := New(nil)
	for _, s := range []string{
		"commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "id 123e4567-e89b-12d3-a456-426614174000",
		".sk-loading-spinner-container-wide { }",
		"the task-runner-with-a-long-name-here-4711",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "password = \"changeme-1234\"",
		"token := newTokenFromTheEnvironment4711(x)", "max_tokens: 4096", "secret: ${{ secrets.DEPLOY_TOKEN_4711 }}",
		"api_key=os.environ['KEY_OF_4711']",
		"precious suspicious spaciousness", "func TestTokenIsRefreshedWhenItExpires(t *testing.T)",
		"token count 12345678901234567890", "https://acme.io/a/b?c=%20d&e=f",
		"secret_name: projects/acme/secrets/db-1/versions/2", "h1:abcdefABCDEF0123456789abcdefABCDEF0123456789abc=",
		"access_token_path" + " = '/run/secrets/token-1'",
		"internal/redact/redact.go:120: undefined: KindOfSomethingLongAndCamelCase", "printf(\"%d%%\\n\", n)",
	} {
		if got := r.String(s); got != s {
			t.Errorf("%q is %q", s, got)
		}
	}
}

// Each expression has a literal, because one without would be tried on each text. An invalid expression panics.
func TestEachKindHasLiterals(t *testing.T) {
	for _, k := range kinds() {
		k.Re.Re()
		if len(k.needs()) == 0 {
			t.Errorf("%s", k.ID)
		}
	}
	if len(kinds()) > literal.MostGroups {
		t.Error(len(kinds()))
	}
}

// inPieces redacts a text that arrives in pieces, like output.
func inPieces(r *Redactor, text string, size int) string {
	var out strings.Builder
	var held []byte
	for i := 0; i < len(text); i += size {
		held = append(held, text[i:min(i+size, len(text))]...)
		n := Cut(held)
		out.WriteString(r.String(string(held[:n])))
		held = held[n:]
	}
	return out.String() + r.String(string(held))
}

func FuzzPieces(f *testing.F) {
	for _, s := range samples() {
		f.Add("a\n"+s+"\nb", 3)
		f.Add(jsonText("a\n"+s), 7)
	}
	key := "-----BEGIN " + "PRIVATE KEY-----\nMIIabcdefghijklmnop\n-----END PRIVATE KEY-----\nrest\n"
	f.Add(key, 5)
	f.Add(strings.Repeat("QUJD", 19)+"\n"+strings.Repeat("QUJD", 9), 10)
	r := New([]string{"DEPLOY_TOKEN=canary-7Jq2ZpXw9LmTr4"})
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		if whole, parts := r.String(text), inPieces(r, text, size); whole != parts {
			t.Errorf("%q in one piece becomes %q, in pieces of %d bytes %q", text, whole, size, parts)
		}
	})
}

// A line that is longer than a segment is cut, but never inside a secret.
func TestLongLinesKeepSecretsWhole(t *testing.T) {
	r := New(nil)
	for _, kind := range []string{"github", "aws secret", "generic", "vault"} {
		s := samples()[kind]
		secret := secretOf(s)
		for _, at := range []int{maxSegment - len(s)/2, maxSegment - len(s) + 1} {
			text := strings.Repeat(".", at) + " " + s + " " + strings.Repeat(".", 2*lookBehind)
			if strings.Contains(inPieces(r, text, 64<<10), secret) ||
				strings.Contains(inPieces(r, strings.ReplaceAll(strings.Replace(text, " "+s+" ", "|"+s+"|", 1), ". ", "||"),
					64<<10), secret) {
				t.Errorf("%s at %d", kind, at)
			}
		}
	}
}

func BenchmarkString(b *testing.B) {
	code := strings.Repeat(
		"func (s *sink) write(st *stream, p []byte) { // 100%\n\tif token := s.next(); token == nil {\n\t\treturn "+
			"fmt.Errorf(\"a %q\\n\", p)\n\t}\n", 400)
	log := strings.Repeat(jsonText(strings.Repeat("line of some output\n\ttoken: none\n", 20))+"\n", 40)
	r := New([]string{"DEPLOY_TOKEN=canary-7Jq2ZpXw9LmTr4"})
	for name, text := range map[string]string{"code": code, "log": log,
		"words": strings.Repeat("plain words of a log line\n", 2000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.String(text)
			}
		})
	}
}
