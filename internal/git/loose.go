package git

import (
	"bufio"
	"compress/zlib"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// loose reads a loose object, as all recently written objects are. For an object larger than limit it returns only the
// size. After an error, ask git.
func (r *Repo) loose(hash, kind string, limit int) (data []byte, size int, err error) {
	if len(hash) < 40 {
		return nil, 0, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(r.Common, "objects", hash[:2], hash[2:]))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, 0, err
	}
	defer z.Close()
	in := bufio.NewReader(z)
	head, err := in.ReadString(0)
	if err != nil {
		return nil, 0, err
	}
	is, count, _ := strings.Cut(strings.TrimSuffix(head, "\x00"), " ")
	if size, err = strconv.Atoi(count); err != nil || is != kind || size < 0 {
		return nil, 0, fs.ErrInvalid
	}
	if size > limit {
		return nil, size, nil
	}
	data = make([]byte, size)
	_, err = io.ReadFull(in, data)
	return data, size, err
}
