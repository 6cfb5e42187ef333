package prepare

import "golang.org/x/sys/windows"

// FreeMiB returns the free space for the user under path, in MiB.
func FreeMiB(path string) (uint64, error) {
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
