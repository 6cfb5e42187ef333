package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// A secret is found behind escapes, in several layers and in base64 that goes on in the next line.
func TestEscapedSecretsAmongPlainLines(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	percent := strings.ReplaceAll(key, "_", "%5F")
	encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 50) + key))
	for _, secret := range []string{percent, strings.ReplaceAll(percent, "%", "%25"), `"a\tb ` + strings.ReplaceAll(key, "h", `\x68`),
		encoded[:76] + "\n" + strings.Replace(encoded[76:], encoded[80:81], fmt.Sprintf("%%%x", encoded[80]), 1)} {
		text := "plain\nlines\n" + secret + "\nand\nmore\n"
		if New(nil).String(text) == text {
			t.Errorf("nothing is hidden in %q", text)
		}
	}
}

// Words of code that begin like a secret raise no suspicion, so a text of such words is not searched with expressions.
// A secret among them is found.
func TestQuietCode(t *testing.T) {
	for _, code := range []string{"path.Join(pattern, config)", "x := figure + path", "patABCDEFGHIJKLMN+1",
		"// see https://example.com/a?b=1", "https://example.com:8080/x", "import path from 'path'",
		"token = next(tokens)", `fmt.Println("no password given:", token)`, "add_node(odd-even)", "CONTENT = CONTEXT",
		"a precious mfa.code", "see sphx_glr"} {
		var none *Redactor
		if !none.quiet(code, 0) {
			t.Errorf("%q is suspicious", code)
		}
	}
	hex := strings.Repeat("0a1b2c3d", 8)
	for _, secret := range []string{"patABCDEFGHIJKLMN." + hex, "figd_" + hex, "https://me:s3cr3t@example.com/x",
		"https://:s3cr3t@example.com", "token = 'a8K2-xq91.LmZ4_77Qw'", "dd_api_key: " + hex[:32],
		"MTE" + hex[:23] + ".0a1b2c." + hex[:38], "cio" + hex[:32], "mfa." + hex + hex[:20], "secret_" + hex[:43]} {
		if text := "path config https://example.com token: x\npath(" + secret; len(Find(text)) != 1 {
			t.Errorf("%d secrets in %q", len(Find(text)), text)
		}
	}
}
