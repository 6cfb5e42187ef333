package connect

import (
	"bytes"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
)

// What is encrypted comes back with the same key, with no other, and holds no plain text.
func TestPayloadsAreReadWithTheirKeyOnly(t *testing.T) {
	one, err := newCodec(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	two, err := newCodec(strings.Repeat("cd", 32))
	if err != nil {
		t.Fatal(err)
	}
	plain := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"title of a batch"`)}
	sealed, err := one.Encode([]*commonpb.Payload{plain})
	if err != nil || bytes.Contains(sealed[0].Data, []byte("title")) {
		t.Fatalf("%v %q", err, sealed)
	}
	back, err := one.Decode(sealed)
	if err != nil || string(back[0].Data) != string(plain.Data) {
		t.Errorf("%v %q", err, back)
	}
	if _, err := two.Decode(sealed); err == nil {
		t.Error("another key reads it")
	}
	if _, err := newCodec("short"); err == nil {
		t.Error("a key may be short")
	}
}
