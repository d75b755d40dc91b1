"""A process for files that somebody else made: it gets rows, gives answers, and can do nothing else.

A list of harmless types is a fence, no sandbox. Compiled code trusts its arrays, and a type that reads files
may be in the list. So the file is loaded in a child process (``worker``). This has given up files, network,
other processes and most of its memory (``confinement``) before it reads the first byte.
"""
