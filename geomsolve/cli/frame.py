"""The frame of every page that is written: it loads nothing, and its content security policy allows its own script
alone, by the digest of that."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path

_HERE = Path(__file__).parent


def part(name: str) -> str:
    """A style sheet or script that stands beside this module."""
    return (_HERE / name).read_text(encoding="utf-8")


def framed(title: str, body: str, *, styles: Sequence[str], script: str) -> str:
    """A page with that ``body``, the style sheets of those names, and the script run at its end."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data: blob:">
<title>{escape(title)}</title>
<style>{"".join(map(part, styles))}</style>
</head>
<body>
{body}<script>{script}</script>
</body>
</html>
"""
