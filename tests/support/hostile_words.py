"""Names and labels that would do harm if they were taken for anything but text."""

from typing import Final

HOSTILE: Final = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "\u202egnol\u2066\u200b",
    "=cmd|' /C calc'!A0",
    "\"'><svg onload=alert(3)>",
    "{{constructor.constructor('alert(4)')()}}",
]
