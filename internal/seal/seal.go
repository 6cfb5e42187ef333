// Package seal signs what runplan writes to disk, so that a row or file written by another program is detected.
//
// The key is a file in the user's own folder, created at first use. A program that can read that file can sign. So a
// seal protects only against programs in a sandbox that hides the key. For other programs it only detects careless
// changes. See docs/security.md.
package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Kind is the kind of signed data: a seal of one kind is never valid for another.
type Kind string

// The kinds of signed data.
const (
	Run   Kind = "run"   // the parameters of a run; the first link of its chain
	Event Kind = "event" // an event of the journal, with the seal of the one before it
	Post  Kind = "post"  // a message to a run from outside
	Cache Kind = "cache" // a gate's answer about a tree
	Head  Kind = "head"  // the head of a run's chain
)

// FileName is the name of the key's file in the user's folder.
const FileName = "seal.key"

const keySize = 32

// Seal signs and verifies with the key of a user. A nil Seal signs nothing, and accepts nothing as signed.
type Seal struct {
	dir string
	key []byte
}

// ErrKey reports that a key is unusable.
var ErrKey = errors.New("the key with which runplan signs cannot be used")

// Open reads the key in the folder dir, and creates both if they are missing.
func Open(dir string) (*Seal, error) {
	key, err := Key(filepath.Join(dir, FileName))
	if err != nil {
		return nil, err
	}
	return &Seal{dir, key}, nil
}

// Key returns the secret in a file, and creates both if they are missing. Only the owner of the file may read it.
func Key(path string) ([]byte, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("create the key with which runplan signs: %w", err)
	}
	return read(path)
}

// create writes a new key, unless there is one.
func create(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	key := make([]byte, keySize)
	if _, err = rand.Read(key); err == nil {
		_, err = f.Write(key)
	}
	if err == nil {
		err = f.Sync() // without its key, a journal would be unusable, so sync it to disk
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// read returns the key. One that another process is still writing is waited for.
func read(path string) ([]byte, error) {
	for try := 0; ; try++ {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKey, err)
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s is not a regular file; remove it to create a new key", ErrKey, path)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("%w: other users may read %s; run: chmod 600 %s", ErrKey, path, path)
		}
		key, err := os.ReadFile(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrKey, err)
		case len(key) == keySize:
			return key, nil
		case len(key) > 0 || try == 100:
			return nil,
				fmt.Errorf(
					"%w: %s has %d bytes instead of %d; restore a copy, or remove it to create a new key: then what was "+
						"signed with the old one, such as runs, is no longer accepted",
					ErrKey, path, len(key), keySize)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Path returns the path of the key file.
func (s *Seal) Path() string {
	if s == nil {
		return ""
	}
	return filepath.Join(s.dir, FileName)
}

// Sum signs fields: hex HMAC-SHA256 over the kind and each field with its length. A nil Seal returns "".
func (s *Seal) Sum(k Kind, fields ...string) string {
	if s == nil {
		return ""
	}
	mac := hmac.New(sha256.New, s.key)
	Fields(mac, append([]string{"runplan/" + string(k)}, fields...)...)
	return hex.EncodeToString(mac.Sum(nil))
}

// Check reports whether sum signs fields, in constant time.
func (s *Seal) Check(sum string, k Kind, fields ...string) bool {
	return s != nil && hmac.Equal([]byte(sum), []byte(s.Sum(k, fields...)))
}

// Fields writes each field with its length, so that no two lists of fields give the same bytes.
func Fields(to hash.Hash, fields ...string) {
	var n [8]byte
	for _, f := range fields {
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		to.Write(n[:])
		_, _ = io.WriteString(to, f)
	}
}
