#!/usr/bin/env python3
"""Fails when a document names a file of this repository that is not there, or an example is not what
docs/config.schema.json says.

In docs/architecture.md every `path/like/this.cc` in backticks counts, relative to src/ or to the
root; in all documents every relative link target does, and every table must be whole; in
docs/asks.md, security.md and upstream-cases.md every `Suite.Test` in backticks must be a test.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)/?`")
TEST = re.compile(r"`(\w+)\.(\w+)`")
TESTS = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.M)
CODE = re.compile(r"`[^`]*`")
BAR = re.compile(r"(?<!\\)\|")
RULE = re.compile(r"[|\-: ]+$")
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


def unlike_schema():
    schema = json.loads((ROOT / "docs/config.schema.json").read_text())
    try:
        import jsonschema
        import yaml
    except ImportError as error:
        print(f"examples are not compared with the schema: {error}")
        return
    validator = jsonschema.Draft7Validator(schema)
    for example in ROOT.glob("examples/config/*.yaml"):
        for error in validator.iter_errors(yaml.safe_load(example.read_text())):
            yield f"{example.relative_to(ROOT)}: {error.json_path}: {error.message}"


def missing_tests():
    sources = [p for d in ("src", "apps", "tests") for p in (ROOT / d).rglob("*_test.cc")]
    tests = {test for p in sources for test in TESTS.findall(p.read_text())}
    for page in (ROOT / "docs" / name for name in ("asks.md", "security.md", "upstream-cases.md")):
        for no, line in enumerate(page.read_text().splitlines(), 1):
            for test in TEST.findall(line):
                if test not in tests and test[1] not in ("py", "go", "cc", "h", "sock"):
                    yield f"{page.relative_to(ROOT)}:{no}: there is no test {'.'.join(test)}"


def broken_tables():
    """Rows with other cells than the head of their table, and rules that are not its second line."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"),
                 *ROOT.glob("bench/*.md")]:
        table = []
        for no, line in enumerate([*page.read_text().splitlines(), ""], 1):
            if line.startswith("|"):
                table.append((no, line))
                continue
            cells = [len(BAR.findall(CODE.sub("", row))) for _, row in table]
            for i, (at, row) in enumerate(table):
                if cells[i] != cells[0] or (RULE.match(row) is not None) != (i == 1):
                    yield f"{page.relative_to(ROOT)}:{at}: this row does not fit its table"
            table = []


def main():
    bad = [*missing(), *unlike_schema(), *missing_tests(), *broken_tables()]
    print("\n".join(bad) or "documents name only files that exist")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
