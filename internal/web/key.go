package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const keyBytes = 32

// Key reads the secret at path and creates it if it is missing. Only its owner may read it, because a person with the
// key can sign in. It is kept between starts, so an open page can reconnect.
func Key(path string) ([]byte, error) {
	for range 2 {
		key, err := os.ReadFile(path)
		if err == nil {
			info, err := os.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("read the key of the page: %w", err)
			}
			if len(key) != keyBytes || info.Mode().Perm()&0o077 != 0 {
				return nil,
					fmt.Errorf(
						"read the key of the page: %s is invalid: %d bytes, permissions %v; remove it, and runplan creates it again", path,
						len(key), info.Mode().Perm())
			}
			return key, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the key of the page: %w", err)
		}
		if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) { // another process may have been faster
			return nil, fmt.Errorf("make the key of the page: %w", err)
		}
	}
	return nil, fmt.Errorf("create the key of the page: %s disappears", path)
}

// makeKey creates the key file atomically.
func makeKey(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	key := make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".") // only for its owner
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(key)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}
