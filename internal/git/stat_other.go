//go:build !unix

package git

// statFile is not supported on this system, so git must be used.
func statFile(string) (fileStat, bool) { return fileStat{}, false }
