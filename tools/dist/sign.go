package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// signingKey is the variable with the private key that signs the checksums: Ed25519, PKCS #8 in PEM, as
// "openssl genpkey -algorithm ed25519" makes it.
const signingKey = "RUNPLAN_SIGNING_KEY"

// signature signs SHA256SUMS, where there is a key. "openssl pkeyutl -verify -rawin" verifies SHA256SUMS.sig.
func (r *release) signature(context.Context) error {
	text := os.Getenv(signingKey)
	if text == "" {
		fmt.Fprintln(os.Stderr, "the checksums are not signed: "+signingKey+" is not set")
		return nil
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return errors.New(signingKey + " is no key in PEM; make one: openssl genpkey -algorithm ed25519")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", signingKey, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return fmt.Errorf("%s is a key of another kind than Ed25519", signingKey)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS.sig"), ed25519.Sign(key, sums), 0o644)
}
