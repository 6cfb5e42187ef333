package redact

import (
	"strings"
	"testing"
)

// Words of code that begin like a secret raise no suspicion, so a text of such words is not searched with expressions.
// A secret among them is found.
func TestQuietCode(t *testing.T) {
	for _, code := range []string{"path.Join(pattern, config)", "x := figure + path", "patABCDEFGHIJKLMN+1",
		"// see https://example.com/a?b=1", "https://example.com:8080/x", "import path from 'path'",
		"token = next(tokens)", `fmt.Println("no password given:", token)`} {
		var none *Redactor
		if !none.quiet(code, 0) {
			t.Errorf("%q is suspicious", code)
		}
	}
	hex := strings.Repeat("0a1b2c3d", 8)
	for _, secret := range []string{"patABCDEFGHIJKLMN." + hex, "figd_" + hex, "https://me:s3cr3t@example.com/x",
		"https://:s3cr3t@example.com", "token = 'a8K2-xq91.LmZ4_77Qw'"} {
		if text := "path config https://example.com token: x\npath(" + secret; len(Find(text)) != 1 {
			t.Errorf("%d secrets in %q", len(Find(text)), text)
		}
	}
}
