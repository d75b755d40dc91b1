"""The command line: parse, print, draw. No logic of its own."""
