"""Languages of grammars against others' readings of them: regular expressions against Python's `re`, EBNF against the
PyPI library `lark` (Earley, every way to cut a text into terminals) and llguidance."""

import random
import re

import lark
import llguidance
import pytest

from comparison import CASES

PATTERNS = CASES // 5
LETTERS = "abA1_ \n\u00e9"


def random_regex(rng, depth=3):
    """A pattern that both dialects read alike: `$` is written \\Z for Python, '.' meets no line end but \\n."""
    kind = rng.randrange(12 if depth > 0 else 6)
    if kind < 3:
        return rng.choice(["a", "b", "A", "1", "_", " ", "\\n", "\u00e9", "\\x61", "\\u0062"])
    if kind == 3:
        return rng.choice([".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S"])
    if kind == 4:
        items = rng.sample(["a", "b", "A-B", "0-9", "_", "\\d", "\\s", "\\n", "\u00e0-\u00ff", "^", "-"], rng.randrange(1, 4))
        items.sort(key=lambda item: item == "-")  # a dash at the end is itself
        inside = "".join(items)
        return "[%s%s]" % ("^" if rng.random() < 0.3 else "", "\\" + inside if inside.startswith("^") else inside)
    if kind == 5:
        return rng.choice(["^", "$", ""]) if rng.random() < 0.5 else "b"
    if kind < 8:
        return "".join(random_regex(rng, depth - 1) for _ in range(rng.randrange(1, 4)))
    if kind == 8:
        return "(?:%s)" % "|".join(random_regex(rng, depth - 1) for _ in range(rng.randrange(1, 4)))
    if kind == 9:
        return "(%s)" % random_regex(rng, depth - 1)
    quantifier = rng.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}?", "{1,}"])
    return "(?:%s)%s" % (random_regex(rng, depth - 1), quantifier)


def random_texts(rng, letters, count, longest):
    return [""] + ["".join(rng.choice(letters) for _ in range(rng.randrange(longest + 1))) for _ in range(count)]


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_regex_fits_what_re_matches(grammars, search, ignore_case):
    rng = random.Random(f"{search} {ignore_case}")
    fitting = 0
    for _ in range(PATTERNS):
        pattern = random_regex(rng)
        texts = random_texts(rng, LETTERS, 30, 5)
        oracle = re.compile(pattern.replace("$", "\\Z"), re.ASCII | re.IGNORECASE * ignore_case)
        expected = [bool((oracle.search if search else oracle.fullmatch)(text)) for text in texts]
        answer = grammars.expect(op="regex", pattern=pattern, search=search, ignore_case=ignore_case, texts=texts)
        assert answer["automaton"] == expected, (pattern, disagreement(texts, answer["automaton"], expected))
        assert answer["expression"] == expected, (pattern, disagreement(texts, answer["expression"], expected))
        fitting += sum(expected)
    assert fitting > PATTERNS  # texts that fit were among them


def disagreement(texts, found, expected):
    return [(text, f, e) for text, f, e in zip(texts, found, expected) if f != e]


class Rules:
    """Random rules over single letters, as GBNF and as Lark. Every rule can end, and none is itself by another name."""

    def __init__(self, rng):
        self.rng = rng
        self.names = ["root", "x", "y", "z"][: rng.randrange(1, 5)]
        self.bodies = {name: self.choices(2, index) for index, name in enumerate(self.names)}

    def choices(self, depth, index):
        return ("or", [self.sequence(depth, index) for _ in range(self.rng.randrange(1, 4))] + [("text", self.rng.choice("abc"))])

    def sequence(self, depth, index):
        return ("then", [("text", self.rng.choice("abc"))] + [self.item(depth, index) for _ in range(self.rng.randrange(3))])

    def item(self, depth, index):
        kind = self.rng.randrange(6 if depth > 0 else 3)
        if kind == 0:
            return ("class", "".join(self.rng.sample("abc", 2)))
        if kind == 1:
            return ("rule", self.rng.choice(self.names))
        if kind == 2:
            return ("text", self.rng.choice("abc"))
        if kind == 3:
            return self.choices(depth - 1, index)
        return ("repeat", self.choices(depth - 1, index), self.rng.choice([(0, 1), (0, None), (1, None), (2, 2), (1, 3)]))

    def gbnf(self):
        return "\n".join("%s ::= %s" % (name, self.write(body, "[%s]", str)) for name, body in self.bodies.items())

    def lark(self):
        start = lambda name: "start" if name == "root" else name  # noqa: E731
        return "\n".join("%s: %s" % (start(name), self.write(body, "/[%s]/", start)) for name, body in self.bodies.items())

    def flat_lark(self):
        """With a rule for each group: Lark writes out all ways through the groups of a rule."""
        self.groups = []
        lines = self.lark().split("\n") + self.groups
        self.groups = None
        return "\n".join(lines)

    groups = None

    def write(self, node, class_form, rename):
        kind = node[0]
        write = lambda part: self.write(part, class_form, rename)  # noqa: E731
        if kind == "or":
            body = " | ".join(map(write, node[1]))
            if self.groups is None:
                return "(%s)" % body
            self.groups.append("group%d: %s" % (len(self.groups), body))
            return "group%d" % (len(self.groups) - 1)
        if kind == "then":
            return " ".join(map(write, node[1]))
        if kind == "class":
            return class_form % node[1]
        if kind == "rule":
            return rename(node[1])
        if kind == "text":
            return '"%s"' % node[1]
        least, most = node[2]
        suffix = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((least, most))
        if suffix is None and class_form.startswith("["):
            suffix = "{%d}" % least if least == most else "{%d,%d}" % (least, most)
        if suffix is None:
            suffix = "~%d" % least if least == most else "~%d..%d" % (least, most)
        return write(node[1]) + suffix


def lark_fits(grammar, texts):
    parser = lark.Lark(grammar, parser="earley", lexer="dynamic_complete", ambiguity="forest")

    def fits(text):
        try:
            parser.parse(text)
            return True
        except lark.exceptions.LarkError:
            return False

    return [fits(text) for text in texts]


def llguidance_fits(tokenizer, grammar, texts):
    def fits(text):
        matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
        assert not matcher.is_error(), matcher.get_error()
        return matcher.consume_tokens(list(text.encode())) and matcher.is_accepting()

    return [fits(text) for text in texts]


def test_gbnf_and_lark_fit_what_lark_parses(grammars):
    rng = random.Random("ebnf")
    fitting = 0
    for _ in range(PATTERNS // 20):
        rules = Rules(rng)
        texts = random_texts(rng, "abc", 30, 6)
        expected = lark_fits(rules.flat_lark(), texts)
        for language, source in (("gbnf", rules.gbnf()), ("lark", rules.lark())):
            found = grammars.expect(op="read", language=language, source=source, texts=texts)["fits"]
            assert found == expected, (source, disagreement(texts, found, expected))
        fitting += sum(expected)
    assert fitting > PATTERNS // 20


def test_gbnf_fits_what_llguidance_reads(grammars):
    tokenizer = llguidance.LLTokenizer("byte")
    rng = random.Random("llguidance")
    for _ in range(PATTERNS // 20):
        source = Rules(rng).gbnf()
        texts = random_texts(rng, "abc", 20, 6)
        expected = llguidance_fits(tokenizer, llguidance.gbnf_to_lark.any_to_lark(source), texts)
        found = grammars.expect(op="read", language="gbnf", source=source, texts=texts)["fits"]
        assert found == expected, (source, disagreement(texts, found, expected))


LARK = {  # and what texts are made of
    "sum": ('?start: sum\n?sum: product | sum "+" product -> add\n?product: NUMBER | "(" sum ")"\n%import common.NUMBER\n'
            "%import common.WS\n%ignore WS\n", "1.e+ ()"),
    "words": ('start: greeting~1..2 ["!"]\ngreeting: "hi"i | NAME ":"\nNAME: LETTER (LETTER|DIGIT)*\n'
              '%import common (LETTER, DIGIT)\n%ignore " "\n', "hI1:! "),
    "strings": ("start: pair (\",\" pair)*\npair: ESCAPED_STRING \"=\" SIGNED_INT\n%import common.ESCAPED_STRING\n"
                "%import common.SIGNED_INT\n", ["\"", "\\", "\"a\"", "\"\\\"\"", "=", "=1", "=-2", ","]),
    "comments": ('start: "a"+\n%ignore /#[^\\n]*\\n/\n', "a#\n"),
    "ranges": ('start: ("a".."c")+ /x{2}|y/i? // all\n', "abcdxXyY"),
}


@pytest.mark.parametrize("name", LARK)
def test_lark_grammars_fit_what_lark_parses(name, grammars):
    source, letters = LARK[name]
    texts = random_texts(random.Random(name), letters, CASES // 5, 7)
    expected = lark_fits(source, texts)
    found = grammars.expect(op="read", language="lark", source=source, texts=texts)["fits"]
    assert found == expected, disagreement(texts, found, expected)
    assert any(expected) and not all(expected)
