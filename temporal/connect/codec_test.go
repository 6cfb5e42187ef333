package connect

import (
	"bytes"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/temporal"
)

// Encrypted payloads contain no plain text, and only the same key decrypts them.
func TestPayloadsNeedTheirKey(t *testing.T) {
	one, err := newCodec(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	two, err := newCodec(strings.Repeat("cd", 32))
	if err != nil {
		t.Fatal(err)
	}
	plain := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")},
		Data: []byte(`"title of a batch"`)}
	sealed, err := one.Encode([]*commonpb.Payload{plain})
	if err != nil || bytes.Contains(sealed[0].Data, []byte("title")) {
		t.Fatalf("%v %q", err, sealed)
	}
	back, err := one.Decode(sealed)
	if err != nil || string(back[0].Data) != string(plain.Data) {
		t.Errorf("%v %q", err, back)
	}
	if _, err := two.Decode(sealed); err == nil {
		t.Error("another key can decode the data")
	}
	if _, err := newCodec("short"); err == nil {
		t.Error("a key may be short")
	}
}

// With a key, the texts of errors are encrypted too and can be restored; without a key they stay plain.
func TestErrorTextsNeedTheirKey(t *testing.T) {
	key, err := newCodec(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	const text = "the title of a batch"
	for name, tt := range map[string]struct {
		as   Coding
		open bool
	}{"with a key": {coding(key), false}, "without": {Plain(), true}} {
		f := tt.as.Failures.ErrorToFailure(temporal.NewApplicationError(text, "Refused"))
		if open := strings.Contains(f.String(), text); open != tt.open {
			t.Errorf("%s: %v", name, f)
		}
		if back := tt.as.Failures.FailureToError(f); !strings.Contains(back.Error(), text) {
			t.Errorf("%s: the decoded error lacks the text: %v", name, back)
		}
	}
}
