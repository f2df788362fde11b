#!/usr/bin/env python3
"""Fails when a document names a file of this repository that is not there.

In docs/architecture.md every `path/like/this.cc` in backticks counts, relative to src/ or to the
root; in all documents every relative link target does.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)/?`")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def missing():
    walk = ROOT / "docs/architecture.md"
    for no, line in enumerate(walk.read_text().splitlines(), 1):
        for path in PATH.findall(line):
            if not (ROOT / "src" / path).exists() and not (ROOT / path).exists():
                yield f"docs/architecture.md:{no}: {path} is neither in src/ nor in the root"
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("proto/*.md")]:
        for no, line in enumerate(page.read_text().splitlines(), 1):
            for target in LINK.findall(line):
                if not (page.parent / target).exists():
                    yield f"{page.relative_to(ROOT)}:{no}: {target} does not exist"


def main():
    bad = list(missing())
    print("\n".join(bad) or "documents name only files that exist")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
