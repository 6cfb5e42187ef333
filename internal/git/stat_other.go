//go:build !unix

package git

// statFile is not supported here: git has to be asked.
func statFile(string) (fileStat, bool) { return fileStat{}, false }
