//go:build unix && !linux

package proc

func busyMain() {}
