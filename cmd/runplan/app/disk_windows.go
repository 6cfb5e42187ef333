package app

import "golang.org/x/sys/windows"

// freeMiB returns the free space for the user under path, in MiB.
func freeMiB(path string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, err
	}
	return free >> 20, nil
}
