//go:build !linux && !darwin

package room

import "io/fs"

// systemStamp returns zeros: this system does not provide the change time.
func systemStamp(fs.FileInfo) (change int64, inode uint64) { return 0, 0 }
