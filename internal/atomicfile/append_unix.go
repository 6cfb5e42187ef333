//go:build unix

package atomicfile

import "syscall"

// noFollow makes open refuse a symbolic link, and not wait for the other end of a named pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
