//go:build unix

package atomicfile

import "syscall"

// noFollow refuses a symbolic link, and does not wait for the other end of a named pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
