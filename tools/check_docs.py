#!/usr/bin/env python3
"""Fails when a document names a file of this repository that is not there, or an example is not what
docs/config.schema.json says.

In docs/architecture.md every `path/like/this.cc` in backticks counts, relative to src/ or to the
root; in all documents every relative link target does.
"""
import json
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


def main():
    bad = [*missing(), *unlike_schema()]
    print("\n".join(bad) or "documents name only files that exist")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
