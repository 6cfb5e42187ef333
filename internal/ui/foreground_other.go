//go:build !unix

package ui

import "os"

func foreground(*os.File) bool { return true }
