"""Deterministic text that is hard on tokenizers. No file and no network: everything is generated from a seed."""

import functools
import random
import unicodedata

WORDS = """the quick brown fox jumps over a lazy dog and then he said that they'll go because it's what we've wanted since 1984
I'm sure you'd agree THEY'RE NOT DON'T Can't IT'S we'Ll O'Neill 'tis rock'n'roll internationalization antidisestablishment
tokenizer language model weights gradient descent function return const void int std::vector<int> x = 3.14159; if (a != b) {
def __init__(self): print(f"{x}") // comment /* block */ <html> &amp; https://example.org/a?b=c#d e-mail@host.tld C++ foo_bar
""".split()
EMOJI = ["\U0001f600", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "1\ufe0f\u20e3",
         "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"]
SCRIPTS = [
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",  # Thai
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0661\u0662\u0663",  # Arabic
    "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",  # Hebrew with points
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u3053\u3093\u306b\u3061\u306f\u30bb\u30ab\u30a4",  # Chinese, Japanese
    "\uc548\ub155\ud558\uc138\uc694 \u1112\u1161\u11ab\u1100\u1173\u11af",  # Hangul, whole and as jamo
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e \u0967\u0968\u0969",  # Devanagari
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",  # Cyrillic
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5",  # Greek
    "Stra\u00dfe na\u00efve \u0130stanbul \u017f\u017ft \ufb01n \u01c5 \u2167 \u00bd \u00b2",
    "e\u0301a\u0308\u0323o\u0302\u0301 \u0958 \u0344 \u1e9b\u0323 a\u0315\u0300\u05ae\u0300\u0062",  # to be composed
    "'\u017f it'\u017f I'\uff33 K\u212a\u2126\u212b",
]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n\n", " \n ", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff", "\u180e",
          "\x1c", " " * 17, "\n" * 9, "\t\t", " \t \r", "\u2581", "\u2581\u2581 "]
CONTRACTIONS = ["'s", "'S", "'t", "'re", "'RE", "'rE", "'ve", "'m", "'M", "'ll", "'LL", "'lL", "'d", "'D", "'x", "''", "'", "\u2019s"]
SPECIALS = ["<|im_start|>", "<|im_end|>", "<|im_", "start|>", "<mask>", "<r>", "<tool>", "Word", "N\u00f6rm", "<s>", "</s>", "<unk>", "<0x0A>", "<"]


@functools.cache
def code_points_by_category(oldest_unicode):
    by_category = {}
    for c in range(0x110000):
        category = unicodedata.category(chr(c))
        if category == "Cs" or (oldest_unicode and category == "Cn"):
            continue
        by_category.setdefault(category, []).append(chr(c))
    return by_category


def generate(count, seed, assigned_only=False):
    """`count` strings. assigned_only: no code point younger than Python's Unicode (14)."""
    rng = random.Random(seed)
    categories = list(code_points_by_category(assigned_only).values())
    makers = [
        lambda: rng.choice(WORDS),
        lambda: rng.choice(WORDS) + " ",
        lambda: rng.choice(WORDS),
        lambda: rng.choice(SPACES),
        lambda: rng.choice(SPACES) * rng.randint(1, 4),
        lambda: rng.choice(CONTRACTIONS),
        lambda: rng.choice(WORDS).upper() + rng.choice(CONTRACTIONS),
        lambda: str(rng.randrange(10 ** rng.randint(1, 12))),
        lambda: rng.choice(EMOJI),
        lambda: rng.choice(SCRIPTS),
        lambda: rng.choice(SCRIPTS)[rng.randrange(8) :],
        lambda: rng.choice(SPECIALS),
        lambda: "".join(rng.choice(rng.choice(categories)) for _ in range(rng.randint(1, 6))),
        lambda: chr(rng.randrange(0x300, 0x370)) * rng.randint(1, 4),
        lambda: chr(rng.randrange(0, 0x100)) * rng.randint(1, 3),
        lambda: rng.choice("abc=-_#./\\\"'<>|") * rng.randint(1, 60),
    ]
    return ["".join(rng.choice(makers)() for _ in range(rng.randint(1, 9))) for _ in range(count)]


@functools.cache
def changed_characters():
    characters = [chr(c) for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
    return ([c for c in characters if unicodedata.normalize("NFKD", c) != c], [c for c in characters if unicodedata.category(c)[0] == "M"])


def normalizable(count, seed):
    """`count` strings of characters that normalizers change, among plain ones."""
    rng = random.Random(seed)
    changed, marks = changed_characters()
    common = [c for c in marks if c < "\u0370"]
    controls = [chr(c) for c in range(0x20)] + ["\x7f", "\x85", "\x9f", "\ufffd", "\xad", "\ufeff", "\u200d"]
    makers = [
        lambda: rng.choice(changed),
        lambda: rng.choice("aeouAEOUnsc"),
        lambda: rng.choice("aeouAEOUnsc") + rng.choice(common) * rng.randint(0, 2),
        lambda: "".join(rng.choice(common) for _ in range(rng.randint(1, 4))),
        lambda: rng.choice(marks),
        lambda: rng.choice(controls),
        lambda: rng.choice(SPACES),
        lambda: rng.choice(["\r\n", " ", "\u4f60", "\u1112", "\u1161", "\u11ab", "\u30ab", "\uff9e", "\u3099", "\ud55c", "\u2122", "\xbd", "\xa9\u200d\xae"]),
    ]
    return ["".join(rng.choice(makers)() for _ in range(rng.randint(1, 10))) for _ in range(count)]


def training_lines():
    return [t.replace("\x00", "") for t in generate(3000, seed=1)] + [" ".join(WORDS)] * 30
