// Package checksum names contents by their SHA-256.
package checksum

import (
	"crypto/sha256"
	"encoding/hex"
)

// SHA256 returns the SHA-256 of content in hex, 64 digits.
func SHA256[T string | []byte](content T) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
