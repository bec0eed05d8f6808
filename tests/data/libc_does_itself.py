# SPDX-License-Identifier: MIT
"""What libc does by itself, as `strace -k` shows it: libc's outermost function (the *entry*) on the stack of a system
call that the program did not make through that call's own wrapper, what the trace owes for it, and why.

Kept by hand and never derived from a trace. An entry that is not here fails the test that met it. Symbols are those
that strace prints: the nearest exported one, so a static function of libc goes by its neighbour's name (said in the reason);
or, where strace reads libc's debug symbols, the function's own in the source (`find` takes off what marks an alias there).
"""

import re

OWN = "own"            # libc's own business: no event is owed
STDIO_OPEN = "fopen"   # one open by an stdio call
STDIO_IO = "stdio"     # a transfer below a stream: its bytes are owed by the STDIO calls of that file, no count
OPEN_EVENT = "open"    # an interposed function that opens; one event where the open succeeds

ENTRIES = {
    # stdio: glibc's streams call the system below the PLT (DESIGN 4.2)
    "fgets": (STDIO_OPEN, "__fopen_internal is static and follows fgets; fopen tail-calls it", {"read": STDIO_IO}),
    "__fopen_internal": (STDIO_OPEN, "fopen tail-calls it", {}),
    "fopen": (STDIO_OPEN, "fopen itself", {}),
    "fopen64": (STDIO_OPEN, "fopen itself", {}),
    "_IO_fopen": (STDIO_OPEN, "alias of fopen", {}),
    "freopen": (STDIO_OPEN, "freopen closes and opens", {}),
    "freopen64": (STDIO_OPEN, "freopen closes and opens", {}),
    "tmpfile": (OWN, "a nameless file of stdio's own", {}),
    "_IO_fclose": (STDIO_IO, "flush, seek back over what was read ahead, close", {}),
    "fclose": (STDIO_IO, "flush, seek back over what was read ahead, close", {}),
    "pclose": (STDIO_IO, "flush and close", {}),
    "fflush": (STDIO_IO, "flush", {}),
    "fflush_unlocked": (STDIO_IO, "flush", {}),
    "_IO_fflush": (STDIO_IO, "alias of fflush", {}),
    "_IO_fwrite": (STDIO_IO, "fwrite", {}),
    "fwrite": (STDIO_IO, "fwrite", {}),
    "fwrite_unlocked": (STDIO_IO, "fwrite", {}),
    "fread": (STDIO_IO, "fread", {}),
    "_IO_fread": (STDIO_IO, "alias of fread", {}),
    "fread_unlocked": (STDIO_IO, "fread", {}),
    "__fread_chk": (STDIO_IO, "fread", {}),
    "__fread_unlocked_chk": (STDIO_IO, "fread", {}),
    "__fgets_chk": (STDIO_IO, "fgets", {}),
    "__fgets_unlocked_chk": (STDIO_IO, "fgets", {}),
    "dprintf": (STDIO_IO, "dprintf, through a stream of its own", {}),
    "__dprintf_chk": (STDIO_IO, "dprintf, through a stream of its own", {}),
    "_IO_default_uflow": (STDIO_IO, "fgets, getc and getline tail-call the underflow", {}),
    "_IO_file_overflow": (STDIO_IO, "putc tail-calls the overflow", {}),
    "__overflow": (STDIO_IO, "putc's slow path", {}),
    "__uflow": (STDIO_IO, "getc's slow path", {}),
    "__underflow": (STDIO_IO, "peeking", {}),
    "fputs": (STDIO_IO, "fputs", {}),
    "_IO_fputs": (STDIO_IO, "alias of fputs", {}),
    "fputs_unlocked": (STDIO_IO, "fputs", {}),
    "puts": (STDIO_IO, "puts", {}),
    "_IO_puts": (STDIO_IO, "alias of puts", {}),
    "putc": (STDIO_IO, "putc", {}),
    "_IO_putc": (STDIO_IO, "alias of putc", {}),
    "fputc": (STDIO_IO, "fputc", {}),
    "putchar": (STDIO_IO, "putchar", {}),
    "getc": (STDIO_IO, "getc", {}),
    "fgetc": (STDIO_IO, "fgetc", {}),
    "_IO_getc": (STDIO_IO, "alias of getc", {}),
    "_IO_fgets": (STDIO_IO, "alias of fgets", {}),
    "fgets_unlocked": (STDIO_IO, "fgets", {}),
    "getline": (STDIO_IO, "getline", {}),
    "__getdelim": (STDIO_IO, "getdelim and getline", {}),
    "printf": (STDIO_IO, "printf", {}),
    "fprintf": (STDIO_IO, "fprintf", {}),
    "vfprintf": (STDIO_IO, "vfprintf", {}),
    "__fprintf_chk": (STDIO_IO, "fprintf", {}),
    "__printf_chk": (STDIO_IO, "printf", {}),
    "__vfprintf_chk": (STDIO_IO, "vfprintf", {}),
    "fscanf": (STDIO_IO, "fscanf", {}),
    "__isoc99_fscanf": (STDIO_IO, "fscanf", {}),
    "perror": (STDIO_IO, "a message on stderr", {}),
    "error": (STDIO_IO, "a message on stderr", {}),
    "fseek": (STDIO_IO, "flush or read ahead at the new position", {}),
    "fseeko": (STDIO_IO, "flush or read ahead at the new position", {}),
    "fseeko64": (STDIO_IO, "flush or read ahead at the new position", {}),
    "__fseeko64": (STDIO_IO, "alias of fseeko64", {}),
    "ftell": (STDIO_IO, "asks where the descriptor stands", {}),
    "ftello64": (STDIO_IO, "asks where the descriptor stands", {}),
    "rewind": (STDIO_IO, "seeks", {}),
    "fsetpos": (STDIO_IO, "flush or read ahead at the new position", {}),
    "_IO_fsetpos": (STDIO_IO, "alias of fsetpos", {}),
    "fsetpos64": (STDIO_IO, "flush or read ahead at the new position", {}),
    "_IO_fprintf": (STDIO_IO, "alias of fprintf", {}),
    "__isoc99_vfscanf": (STDIO_IO, "fscanf", {}),
    "putw": (STDIO_IO, "putw", {}),
    "getw": (STDIO_IO, "getw", {}),
    "fwprintf": (STDIO_IO, "fwprintf", {}),
    "_IO_adjust_column": (STDIO_IO, "_IO_flush_all_lockp is static and follows it: fflush(NULL), fcloseall", {}),
    "_IO_flush_all": (STDIO_IO, "fflush(NULL)", {}),
    "_IO_cleanup": (STDIO_IO, "streams flushed by exit", {}),
    "fgetws": (STDIO_IO, "fgetws", {}),
    "fgetwc": (STDIO_IO, "fgetwc", {}),
    "fputws": (STDIO_IO, "fputws", {}),
    "fputwc": (STDIO_IO, "fputwc", {}),
    "fcloseall": (STDIO_IO, "flush of all streams", {}),
    "setvbuf": (STDIO_IO, "flush", {}),
    "__libc_start_main": (STDIO_IO, "streams flushed by exit after main returned", {}),
    "__libc_init_first": (STDIO_IO, "the static function that calls main: streams flushed by exit", {}),
    "exit": (STDIO_IO, "streams flushed by exit", {}),
    # names that libc makes up: the interposed function is the one event, its tries are libc's
    "tempnam": (OPEN_EVENT, "__gen_tempfd is static and follows tempnam; the mkstemp family tail-calls it", {}),
    "__gen_tempname": (OPEN_EVENT, "the mkstemp family tail-calls it", {}),
    "mkstemp": (OPEN_EVENT, "mkstemp", {}),
    "mkostemp64": (OPEN_EVENT, "mkostemp", {}),
    # directory streams (DESIGN 4.2): opendir, readdir and closedir are the events
    "opendir": (OWN, "directory stream", {}),
    "closedir": (OWN, "directory stream", {}),
    "rewinddir": (OWN, "directory stream", {}),
    "scandir": (OWN, "directory stream", {}),
    "scandir64": (OWN, "directory stream", {}),
    "__close_nocancel": (OWN, "closedir and the like tail-call it; no program can: GLIBC_PRIVATE", {}),
    "nftw": (OWN, "tree walk", {}),
    "ftw": (OWN, "tree walk", {}),
    "fts_read": (OWN, "tree walk", {}),
    "glob": (OWN, "directory stream", {}),
    # locale, messages, character sets, time zones, NSS
    "setlocale": (OWN, "locale archive and gconv", {}),
    "newlocale": (OWN, "locale archive", {}),
    "gettext": (OWN, "message catalogues", {}),
    "dcgettext": (OWN, "message catalogues", {}),
    "strerror": (OWN, "message catalogues", {}),
    "strerror_l": (OWN, "message catalogues", {}),
    "iconv_open": (OWN, "gconv", {}),
    "mbrtowc": (OWN, "gconv", {}),
    "tzset": (OWN, "time zone", {}),
    "__tz_convert": (OWN, "localtime and localtime_r tail-call it", {}),
    "localtime": (OWN, "time zone", {}),
    "localtime_r": (OWN, "time zone", {}),
    "mktime": (OWN, "time zone", {}),
    "getpwuid": (OWN, "NSS", {}),
    "getpwnam": (OWN, "NSS", {}),
    "getpwuid_r": (OWN, "NSS", {}),
    "getpwnam_r": (OWN, "NSS", {}),
    "getgrgid": (OWN, "NSS", {}),
    "getgrnam": (OWN, "NSS", {}),
    "getaddrinfo": (OWN, "NSS and resolver", {}),
    # named semaphores
    "sem_open": (OWN, "creates a file of its own in /dev/shm by a link", {}),
    "sem_unlink": (OWN, "the same file", {}),
    "fchmodat": (OWN, "AT_SYMLINK_NOFOLLOW is made of an O_PATH descriptor and /proc", {}),
    # processes
    "posix_spawn": (OWN, "child side: file actions", {}),
    "posix_spawnp": (OWN, "child side: file actions", {}),
    "popen": (OWN, "child side: the pipe's ends", {}),
    "system": (OWN, "child side", {}),
    # what libc asks /proc and /sys
    "pthread_getattr_np": (OWN, "reads the stack's limits in /proc/self/maps", {}),
    "sysconf": (OWN, "reads /sys/devices/system/cpu", {}),
    "get_nprocs": (OWN, "reads /sys/devices/system/cpu", {}),
    "get_nprocs_conf": (OWN, "reads /sys/devices/system/cpu", {}),
    "malloc": (OWN, "reads /proc or /sys for arenas and huge pages", {}),
    "free": (OWN, "reads /proc/sys/vm/overcommit_memory when it shrinks an arena", {}),
    "getcwd": (OWN, "walks up where the kernel cannot say", {}),
    "realpath": (OWN, "readlink of each part", {}),
    "dlopen": (OWN, "ld.so's objects", {}),
    "getentropy": (OWN, "random bytes", {}),
    "gethostid": (OWN, "/etc/hostid", {}),
    "getmntent": (STDIO_IO, "a stream over the mount table", {}),
}

MARKS = (r"_IO_new_", r"_IO_", r"__new_", r"__isoc23_", r"___?")


def find(symbol):
    """The entry of a symbol, None where it is not in the list. `_IO_new_fclose` is fclose."""
    for name in (symbol, *(re.sub("^" + mark, "", symbol) for mark in MARKS)):
        if name in ENTRIES:
            return ENTRIES[name]
    return None
