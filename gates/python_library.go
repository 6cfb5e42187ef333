package gates

// PythonLibrary returns the modules of Python's library that a folder of the project can hide, and the two that Python
// runs when it starts.
func PythonLibrary() []string {
	return []string{
		"abc", "aifc", "argparse", "array", "ast", "asynchat", "asyncio", "asyncore", "audioop", "base64", "bdb",
		"binascii", "bisect", "bz2", "cProfile", "cgi", "cgitb", "cmath", "code", "codecs", "codeop", "collections",
		"compileall", "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv",
		"ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils", "doctest",
		"email", "encodings", "ensurepip", "enum", "fcntl", "filecmp", "fileinput", "fnmatch", "ftplib", "functools",
		"genericpath", "getopt", "getpass", "gettext", "glob", "grp", "gzip", "hashlib", "heapq", "hmac", "html",
		"http", "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "json", "keyword",
		"lib2to3", "linecache", "locale", "logging", "lzma", "mailcap", "math", "mimetypes", "mmap", "modulefinder",
		"msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "opcode",
		"operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb", "pickle", "pickletools", "pipes", "pkgutil",
		"platform", "plistlib", "poplib", "posixpath", "pprint", "profile", "pstats", "pty", "py_compile", "pyclbr",
		"pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib", "resource",
		"rlcompleter", "runpy", "secrets", "select", "selectors", "shlex", "shutil", "signal", "site", "smtpd",
		"smtplib", "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants",
		"sre_parse", "ssl", "stat", "string", "stringprep", "struct", "subprocess", "sunau", "symtable", "sysconfig",
		"syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios", "textwrap", "threading", "timeit",
		"tkinter", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc", "tty", "turtle",
		"turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings",
		"weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile",
		"zipimport", "zlib", "zoneinfo", "sitecustomize",
		"usercustomize",
	}
}
