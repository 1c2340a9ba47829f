"""Record which texts LangGraph's store takes from values by paths, for the tests of package store.

    generate.sh            write paths.json beside this script
    generate.sh --check    fail if it would change

Each vector is a value, as the JSON text that both sides read, a path, the
tokens of the path and the texts. Objects are written with sorted keys, because
a wildcard follows the order of the object, and Go's maps have none. Names of
the fields that vectors are stored under are those PostgresStore gives.
"""

import argparse
import json
import pathlib
import random
import sys

from langgraph.store.base import get_text_at_path, tokenize_path

HERE = pathlib.Path(__file__).parent

ITEM = {
    "title": "Warp & weft",
    "empty": "",
    "nothing": None,
    "yes": True,
    "no": False,
    "count": 3,
    "price": 4.5,
    "whole": 2.0,
    "meta": {"author": {"name": "Ann", "age": 41}, "tags": ["a", "b"], "none": None},
    "chapters": [
        {"content": "first", "notes": ["n1", "n2"]},
        {"content": "second", "notes": []},
        {"content": None},
        {"other": 1},
    ],
    "matrix": [[1, 2], [3, [4, 5]]],
    "mixed": ["text", 1, 1.5, True, None, {"k": "v"}, ["x"]],
    "dotted.name": "literal",
    "*": "asterisk",
    "$": "dollar",
    "[0]": "bracket",
    "{a}": "brace",
    " padded ": "spaces",
    "線": "糸",
}

PATHS = [
    "", "$", ".", "..", "title", "empty", "nothing", "yes", "no", "count", "price", "whole", "missing",
    "meta", "meta.author", "meta.author.name", "meta.author.age", "meta.tags", "meta.none", "meta.missing.name",
    ".title", "title.", "meta..author", "title.x", "count.x", "dotted.name", "線", " padded ", "title ",
    "chapters", "chapters[0]", "chapters[0].content", "chapters[-1]", "chapters[-1].other", "chapters[-4].content",
    "chapters[4]", "chapters[-5]", "chapters[*]", "chapters[*].content", "chapters[*].notes", "chapters[*].notes[*]",
    "chapters[*].notes[0]", "chapters[0].notes[-1]", "chapters.content", "chapters.*.content", "chapters[].content",
    "chapters[x]", "chapters[0.5]", "chapters[ 0 ].content", "chapters[+1].content", "chapters[-0].content",
    "chapters[00].content", "chapters[0_1].content", "chapters[_1].content", "chapters[1_].content", "chapters[0x1].content",
    "chapters[99999999999999999999]", "chapters[-99999999999999999999]", "chapters[\t1\n].content", "chapters[\u00a01].content",
    "chapters[\x1f1].content", "chapters[0]content", "chapters[[0]]", "chapters[0", "chapters[", "chapters]", "chapters[0]]",
    "matrix[*]", "matrix[*][*]", "matrix[1][1]", "matrix[1][1][0]", "matrix[*][0]", "matrix[-1][-1][-1]", "matrix.*.*",
    "mixed", "mixed[*]", "mixed.*", "mixed[*].k", "mixed[*][*]", "mixed.*.*",
    "*", "*.*", "*.author", "meta.*", "meta.*.*", "meta.*.name", "*.content", "title.*", "nothing.*", "nothing[*]",
    "{title,count}", "{title, meta.author.name}", "{ title , price }", "{title}", "{}", "{,}", "{title,,count}", "{missing}",
    "{missing,title}", "{nothing,yes,no}", "{meta,whole}", "{chapters}", "{title,count}.x", "meta.{author.name,tags}",
    "meta{author,none}", "meta.author.{name,age}", "chapters[*].{content,other}", "chapters[0].{content,notes}",
    "chapters.{content}", "{title", "{title,{count,price}}", "{{title}}", "{title}}", "{meta.tags[0]}", "{chapters[*]}",
    "{*}", "{$}", "{[0]}", "{dotted.name}", "{線,\u2003title\u00a0}", "{\x1ctitle\x1d}", "title{count}", "{title}meta",
    "$.title", "$title", "*title", "title*", "[0]", "[*]", "[-1]", "a[0].b{c,d}.*", "]", "}", "\\", "\"", "é.ü", "\u2028",
]

OTHERS = [
    (["a", "b", {"c": [1, 2]}], ["", "$", "[0]", "[*]", "[-1].c", "[-1].c[*]", "*", "*.c", "{a}", "a", "[2].{c}", "[5]"]),
    ("only text", ["", "$", "a", "*", "[0]", "{a}"]),
    (None, ["", "$", "a", "*"]),
    (True, ["", "$", "a"]),
    (1.5, ["", "$", "a", "."]),
    ({}, ["", "$", "a", "*", "{a}", "."]),
    ([], ["", "[0]", "[*]", "[-1]", "*", "."]),
    ({"": {"": 1}}, ["", ".", "*", "*.*", "{}", "[0]"]),
    ({"a": {"b": {"c": {"d": "deep"}}}}, ["a.b.c.d", "a.*.c.*", "*.*.*.*", "*.*.*.*.*", "{a.b.c.d}", "a.{b.c.d,b.c}", "a.b.{c}"]),
    ({"a.b": 1, "a": {"b": 2}}, ["a.b", "{a.b}", "*"]),
]

# Numbers as JSON has them, and texts that have to be escaped.
NUMBERS = """0 -0 1 -1 12345678901234567890123 9007199254740993 0.0 -0.0 1.0 1.50 1e0 1E3 1e15 1e16 1.0e16 123456789012345678.0
1e21 1e22 1e23 1.7976931348623157e308 5e-324 2.2250738585072014e-308 1e-4 1e-5 0.0001 0.00001 0.000123 0.1 0.2 0.30000000000000004
3.14159 100000.0 1e5 9999999999999998.0 9999999999999999.0 12345.678e-10 -1e-7 -1e16 4.35 0.1e1 1e-400""".split()
TEXTS = [
    "quotes \" and ' and \\ and /", "line\nend\r\ttab\b\f", "\x01\x1f\x7f\u0080\u009f", "\u2028\u2029\ufeff", "線と糸 🧶 é e\u0301",
    "</script>&amp;<>", " ", "{\"json\": true}", "%s $1",
]


def vector(text, path):
    value = json.loads(text)
    return {"value": text, "path": path, "tokens": tokenize_path(path), "texts": get_text_at_path(value, path)}


def dumped(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def random_value(rng, depth):
    kind = rng.randrange(9 if depth else 6)
    if kind < 6:
        return rng.choice([None, True, False, rng.randrange(-5, 100), rng.random() * 10 ** rng.randrange(-8, 20),
                           rng.choice(TEXTS), "abc"[: rng.randrange(4)]])
    if kind == 6:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice("abcd*$ "): random_value(rng, depth - 1) for _ in range(rng.randrange(4))}


def random_path(rng):
    parts = ["a", "b", "c", "d", "*", ".", ".", "[0]", "[-1]", "[*]", "[1]", "{a,b}", "{a.b, c}", "$", "[", "]", "{", "}", ",", " "]
    return "".join(rng.choice(parts) for _ in range(rng.randrange(1, 7)))


def vectors():
    for path in PATHS:
        yield vector(dumped(ITEM), path)
    for value, paths in OTHERS:
        for path in paths:
            yield vector(dumped(value), path)
    for number in NUMBERS:
        for text, path in ((number, "$"), ('{"n": %s}' % number, "n"), ('{"n": [%s]}' % number, "n"),
                           ('{"n": %s}' % number, "{n}")):
            yield vector(text, path)
    for text in TEXTS:
        for value, path in (({"t": text}, "t"), ({"t": text}, "$"), ({text: 1}, "*"), ({text: 1}, ""), ({"t": [text]}, "t")):
            yield vector(dumped(value), path)
    # Sorting is by code point, which the bytes of UTF-8 share and UTF-16 would not.
    yield vector(dumped({"\uffff": 1, "\U00010000": 2, "b": 3, "B": 4, "": 5, "é": 6, "a b": 7, "a": 8}), "$")
    rng = random.Random(1)
    for _ in range(600):
        yield vector(dumped({"a": random_value(rng, 4), "b": random_value(rng, 3), "c": random_value(rng, 3)}), random_path(rng))


def render(rows):
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if anything would change")
    check = parser.parse_args().check
    path = HERE / "paths.json"
    text = render(vectors())
    if not check:
        path.write_text(text)
    elif path.read_text() != text:
        raise SystemExit(f"{path.name} differs from what this Python writes: run generate.sh")
    print(f"{path.name}: {text.count(chr(10)) - 2} vectors", file=sys.stderr)


if __name__ == "__main__":
    main()
