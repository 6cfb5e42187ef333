//go:build !unix

package git

// statFile knows nothing here: git has to be asked.
func statFile(string) (fileStat, bool) { return fileStat{}, false }
