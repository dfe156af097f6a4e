"""Expressions and small templates whose rendering must equal jinja2's, byte for byte or both an error."""

VARIABLES = {
    "s": "Hello World", "u": "h\u00e9llo \u4e16\u754c \U0001f600 stra\u00dfe", "e": "", "n": 5, "z": 0, "f": 2.5, "t": True, "no": None,
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, 2.0, None, True, "x'y"], "c": {"k": "v"}},
    "p": [{"name": "Bo", "age": 3, "x": {"y": 1}}, {"name": "al", "age": 2}, {"name": "Cy", "age": 3}], "m": "a\nb\n\nc d\n",
    "tree": [{"n": "a", "c": [{"n": "b", "c": [{"n": "d"}]}, {"n": "c", "c": []}]}, {"n": "e"}],
}

EXPRESSIONS = r"""
1 + 2 * 3 ** 2 | 7 // 2 | -7 // 2 | 7 % -3 | -7 % 3 | 7 / 2 | 6 / 2 | 2 ** -1 | 2 ** 100 | 1e16 | 1e15 | 1.5e-5 | 0.0001 | 1/3
0.1 + 0.2 | 100.0 | -0.0 | 1 / 0 | 1 // 0 | 1 % 0 | 5.5 // 2 | -5.5 % 2 | 5 % 2.5 | True + 1 | not 1 | not e | 1 < 2 < 3 | 1 < 3 < 2
1 == 1.0 | "a" < "b" | "a" < 1 | [1,2] < [1,3] | (1,2) == [1,2] | 1 in l | 9 not in l | "Wor" in s | "x" in d | "b" in d | 1 in s
s ~ n ~ f ~ no ~ t | s + n | s * 2 | 2 * s | l + [4] | l * 2 | (1,) + (2,) | [1, [2, "a"], (1,), {"k": none}] | ("a") | () | (1,) | {}
{"a": 1, "b": [1.0]} | d | d.a | d["b"] | d.c.k | d.missing | d.missing.x | missing | missing.x | missing + 1 | missing == missing | missing is defined
s[0] | s[-1] | s[20] | s[1:4] | s[::-1] | s[::2] | s[-3:] | s[5:1] | s[8:2:-2] | u[6:8] | u[::-1] | u[-1] | l[0] | l[-1] | l[9] | l[1:] | l[::-1] | l[::0]
range(5)[1:3] | range(5) | range(2, 10, 3)|list | range(5, 0, -2)|list | range(0)|list | range(3)|length | range(1, 2, 0) | range(4)|last | range(10**9)
s.upper() | s.lower() | s.title() | s.split() | s.split("o") | s.split("o", 1) | s.rsplit("o", 1) | "  a b  c ".split(none, 1) | " a b c ".rsplit(none, 1)
" x ".strip() | "xxaxx".strip("x") | "xxaxx".lstrip("x") | "xxaxx".rstrip("x") | s.startswith("He") | s.startswith(("x", "H")) | s.endswith("d") | s.endswith("World", 3) | s.find("o") | s.rfind("o")
s.find("zz") | s.index("zz") | s.count("o") | "aaa".count("") | s.replace("l", "L") | s.replace("l", "L", 1) | "abc".replace("", "-") | "abc".replace("", "-", 2) | ",".join(w) | ",".join(l)
"a{}b{}".format(1, "x") | "{0} {0!r} {k}".format("q", k=2) | "{:>5}|{:<5}|{:^5}|".format("a", "b", "c") | "{:05d} {:x} {:.2f} {:,}".format(42, 255, 3.14159, 1234567) | "{a[0]} {b.c}".format(a=l, b={"c": 1}) | "{} {}".format(1) | "{{}}".format()
"abc".removeprefix("a") | "abc".removesuffix("c") | "123".isdigit() | "12a".isdigit() | "abc".isalpha() | "ab1".isalnum() | " ".isspace() | "AB".isupper() | "ab".islower() | "".islower() | "7".zfill(3) | "-7".zfill(4)
m.splitlines() | m.splitlines(true) | u.upper() | u.title() | u.capitalize() | "\u0130\u03a3".lower() | "a\u03a3".lower() | "\ufb01x".title() | "\ufb01x".capitalize() | "a-b c'd".title() | "abc".partition("b") | "abc".rpartition("z")
d.items() | d.keys() | d.values() | d.items()|list | d.get("b") | d.get("q") | d.get("q", 7) | d.keys()|length | l.index(1) | l.count(1) | l.index(99) | l.append(4) | d.update({}) | l.append | d.pop("b") | l.sort()
f|abs | (-3)|abs | s|abs | [1,2,3,4,5]|batch(2)|list | [1,2,3]|batch(2, 0)|list | s|capitalize | s|count | missing|d("q") | e|default("x") | e|default("x", true) | no|default("x") | d|dictsort | {"B": 1, "a": 2}|dictsort | {"B": 1, "a": 2}|dictsort(true)
{"B": 2, "a": 1}|dictsort(by="value") | {"B": 2, "a": 1}|dictsort(reverse=true) | "<a href='x'>&\"</a>"|e|string | l|first | []|first | e|first | s|first | s|last | l|last | d|first | "3.7"|float | "x"|float | "x"|float(1.5) | " 1_0 "|float | "1e3"|float
"%s-%d-%5.2f|%-5s|%05d|%x"|format("a", 3, 2.345, "b", 42, 255) | "%s" % "x" | "%s %s" % (1, "b") | "%(a)s" % {"a": 1} | "%d" % "x" | "%s" % (1, 2) | "%5s|%-5s|%%" % ("a", "b") | "%r" % s | "%e %g %G" % (12345.678, 0.00001, 1e20) | "%c" % 65
p|groupby("age") | p|groupby("age")|map("first")|list | p|groupby("age")|map(attribute="list")|map("length")|list | m|indent | m|indent(2, true) | m|indent("> ", blank=true) | "42"|int | "4.9"|int | "x"|int | "x"|int(7) | "ff"|int(base=16) | "0x1f"|int(0, 16) | 3.99|int | -3.99|int | no|int | t|int | "1_000"|int | " 12 "|int
w|join | w|join(", ") | l|join("-") | p|join(",", attribute="name") | [1, none, missing]|join("|") | s|length | u|length | d|length | 5|length | e|list | "abc"|list | d|list | s|lower | p|map(attribute="name")|list | p|map(attribute="x.y")|list | p|map(attribute="q", default="z")|list | w|map("upper")|list | w|map("replace", "a", "_")|list | l|map("nope")|list
l|max | l|min | w|max | w|min | w|min(case_sensitive=true) | p|max(attribute="age") | []|max | [1,2,3,4]|reject("odd")|list | p|rejectattr("x")|list | p|rejectattr("age", "eq", 3)|list | s|replace("o", "0") | s|replace("l", "L", 1) | 12|replace(1, 3) | l|reverse|list | s|reverse | d|reverse|list
2.5|round | 3.5|round | 2.675|round(2) | 2.1234|round(2, "ceil") | 2.129|round(2, "floor") | 42|round | 1234|round(-2) | 1250|round(-2) | 2.5|round(0, "nope") | s|safe | [0, 1, "", "a"]|select|list | [1,2,3]|select("odd")|list | [1,2,3]|select("gt", 1)|list | p|selectattr("age", "equalto", 3)|map(attribute="name")|list | p|selectattr("x")|list | p|selectattr("name", "in", ["Bo"])|list
p|selectattr("x", "defined")|list|length | [1,2,3,4,5]|slice(2)|list | [1,2,3,4,5]|slice(3, 0)|list | l|sort | l|sort(reverse=true) | w|sort | w|sort(case_sensitive=true) | p|sort(attribute="age") | p|sort(attribute="age,name")|map(attribute="name")|list | [1, "a"]|sort | 5|string | no|string | "<b>x</b>  y <!-- c --> &lt;"|striptags|string | l|sum | p|sum(attribute="age") | [[1],[2]]|sum(start=[]) | []|sum
"hello wORLD foo-bar (baz)"|title | u|title | d|tojson | u|tojson | u|tojson(ensure_ascii=true) | d|tojson(indent=2) | d|tojson(indent="\t", sort_keys=true) | d|tojson(separators=(",", ":")) | [1.0, 1e100, 1e-7, -0.0, 123456789012345678]|tojson | {1: 2, none: 3, true: 4, 1.5: 6}|tojson | "\u2028<>&'\x07\"\\"|tojson | missing|tojson | range(3)|tojson | (1, 2)|tojson | []|tojson(indent=2) | {"a": {}}|tojson(indent=1)
"  a  "|trim | "xxaxx"|trim("x") | no|trim | "foo bar baz qux"|truncate(9) | "foo bar baz qux"|truncate(9, true) | "foo bar baz qux"|truncate(11) | "foo bar baz qux"|truncate(11, false, "...", 0) | "foo"|truncate(2) | w|unique|list | [1, 1.0, true, "a", "A", none]|unique|list | p|unique(attribute="age")|list | s|upper | "a b/c?d=\u00e9&"|urlencode | {"a b": "c/d", "e": 1}|urlencode | u|wordcount | "a, b_c - 12"|wordcount | "the quick brown fox jumps"|wordwrap(10) | "a well-known fact and aaaaaaaaaaaaaaaaaaaa"|wordwrap(8) | "ab cd"|wordwrap(4, wrapstring="+")
d|items|list | missing|items|list | 5|items|list | p|first|attr("name") | s|attr("upper") is callable | d|map("upper")|join | l|map("string")|join | missing|upper | missing|length | missing|list | missing|first | missing|join | missing|int | missing|abs | missing|sum | missing|sort | missing|string | missing|trim | missing|last | missing|replace("a", "b") | missing|reverse|list
t is boolean | n is boolean | s is callable | range is callable | missing is defined | n is divisibleby 5 | n is divisibleby(2) | n is eq 5 | n is equalto 5 | n is ne 5 | n is lt 6 | n is le 5 | n is gt 5 | n is ge 5 | 4 is even | n is odd | f is even | no is false | false is false | t is true | 1 is true | f is float | n is integer | t is integer | n is number | t is number | s is number
n is in l | 3 is in l | n is iterable | s is iterable | d is iterable | d is mapping | l is mapping | l is sequence | d is sequence | s is sequence | n is sequence | d.items() is sequence | d.items() is iterable | missing is iterable | missing is sequence | missing is mapping | no is none | s is none | s is string | n is string | "abc" is lower | "ABC" is upper | no is sameas none | n is not none | "trim" is filter | "nope" is filter | "odd" is test | n is not defined | s is not string
"a" "b" 'c' | 'it\'s' | "\x41\u0042\103\n\t\\q" | "\q" | 0x1F | 0b101 | 0o17 | 1_000 | 1_0.5 | 007 | 1e3 | 1E-2 | .5 | 5. | s if n else e | s if z | (s if z) is defined | 1 if 0 else 2 if 0 else 3 | n and s | z and s | z or s | z or e | not z and n | n is defined and s | -n | +n | - -n | -s | not not n | l.0 | (1, 2).1
namespace(a=1).a | namespace(a=1).b | namespace({"a": 2}).a | dict(a=1, b=2) | dict([("a", 1)]) | dict({"a": 1}, b=2) | cycler(1, 2).next() | joiner("-")() | raise_exception("boom") | strftime_now("%Y-%m-%d %H:%M:%S %d %B %b %A %a %j %y %I %p %%") | strftime_now("%d %b %Y") | s|nope | s is nope | s.nope() | n() | loop | super() | [].x is defined | no.x | no.x.y
[missing] | [none, true] | {"a": missing} | "a'b" | ["a'b", 'a"b', "a'\"b", "\n\t\x00\x7f\u00e9\u200b\u3042\\"] | [u] | [1.0, 1e22, 1e-5, 123456.789] | [[[[[]]]]] | w[1:]|first | l|sort|first | (l|sort)[0] | l|length > 2 | l|length + 1 | n|string + "x" | "%s"|format(n) + "!" | [1,2]|join ~ 3 | s|upper|lower|length | p[0].name | p[0]["x"].y | p|length - 1 | d.b == 1 and d.c.k == "v" | "a" ~ "b" == "ab" | n in [1, 5] and n not in [2] | 5 in (1, 5)
"a" in ["a", 1] | none in [none] | "k" in d.c | s == "Hello World" | l == [3, 1, 2] | d == d | l != [3] | 2 > 1 >= 1 | "b" > "a" | [1] < ["a"] | none < 1 | true > false | 1.5 < 2 | "" in s | l|select("in", [1, 2])|list | w|map("length")|sum | (l|map("string")|list) + ["z"] | l|reverse|first | l|reverse|length | l|map("abs")|length | l|select|list|length | p|map(attribute="age")|unique|sort|list | {"a": 1}.a | [1, 2][0] | "abc"[1] | ("a", "b")|join
"a"|center(5) ~ "|" | "ab"|center(5) ~ "|" | "a".center(4) ~ "|" | "a".ljust(3, ".") | "a".rjust(3, ".") | "x".rjust(2, "ab") | s|escape|length | l|batch(0)|list | l|slice(0)|list | "%%"|format | "%s"|format | "%(x)s"|format(x=3) | "%*d" % (5, 3) | "%.3s" % "abcdef" | "%+d % d" % (3, 4) | "%#x %o" % (255, 8) | "%i" % 3.9 | "%x" % 3.5 | "%" % 1 | "%q" % 1 | "%f" % 1 | "%s %%" % 1
"a\tb".expandtabs() | "a\tb\tc".expandtabs(4) | "a\tb".expandtabs(tabsize=2) | "a\tb".expandtabs(0) | "a\n\tb\r\tc".expandtabs(3) | "\u4e16\t\u754c".expandtabs(4) | u.casefold() | "\u0130\u1e9e\u03c2".casefold() | s.swapcase() | u.swapcase() | "A\u03a3 \u01c5\u0130".swapcase() | s.isascii() | u.isascii() | "".isascii()
"\u00bd".isnumeric() | "12".isnumeric() | "1.2".isnumeric() | "".isnumeric() | s.isprintable() | m.isprintable() | "".isprintable() | s.istitle() | "ab".istitle() | "Ab C1d".istitle() | "\u01c5".istitle() | "12".istitle() | "{a} {b}".format_map({"a": 1, "b": [2]}) | "{a}".format_map(5) | "{}".format_map({"a": 1}) | "{z}".format_map({})
n.bit_length() | 255.bit_length() | (-256).bit_length() | 0.bit_length() | t.bit_length() | f.bit_length() | f.is_integer() | 2.0.is_integer() | l.copy() | (1, 2).copy() | range(2).copy() | d.copy()
1000000|filesizeformat | 1000|filesizeformat | 1|filesizeformat | 0|filesizeformat | 999.9|filesizeformat | -5.5|filesizeformat | 1500|filesizeformat | 1024|filesizeformat(true) | 123456789|filesizeformat(binary=true) | "5000"|filesizeformat | 1e30|filesizeformat | 1e30|filesizeformat(true) | missing|filesizeformat | "x"|filesizeformat | 999999|filesizeformat
{"class": "a", "id": none, "x": 1}|xmlattr | {"class": "a<b\"", "y": missing}|xmlattr(false) | {"a b": 1}|xmlattr | {}|xmlattr | {"a/": 1}|xmlattr | 5|xmlattr | {1: 2}|xmlattr | {"a": 1, "b": "'&"}|xmlattr(autospace=false)
"{:>{w}}".format("a", w=5) | "{:{}}".format("a", 5) | "{0:{1}}-".format("a", 5) | "{:{a}.{b}f}".format(3.14159, a=8, b=2) | "{:{a{b}}}".format(1, a=2) | "{:{}{}}".format(5, "*^", 9) | "{:{:{}}}".format(1, 2, 3) | "{:{x}}".format(1) | "{a{b}}".format(a=1, b=2) | "{!r:>10}".format("a") | "{:c}".format(65) | "{:5c}!".format(128512) | "{:c}".format(-1) | "{:c}".format("a") | "{:5}".format(true) | "{:>6}".format(false) | "{:d}".format(true) | "{}".format(true) | "{:x<9}".format(true)
p|map(attribute="x.y", default=0)|list | p|map(attribute="x.q", default=0)|list | p|map(attribute="x.q.r", default="z")|list | p|map(attribute="zz", default=none)|list | p|map(attribute="zz", default="")|list | p|map(default=1)|list | w|map("indent", width=2, first=true)|list | w|map("tojson")|join(",") | p|map("items")|map("list")|list | p|groupby("x.y", default=0)|length | p|groupby("zz", default="none") | p|groupby("zz", default=0)|map(attribute="grouper")|list | p|groupby("name", case_sensitive=true)|map(attribute="grouper")|list
w|unique(true)|list | [[1],[1]]|unique|list | [(1,),(1,)]|unique|list | [1,2,3]|batch(0)|list | [1,2,3]|batch(-1)|list | [1,2,3]|batch(2, fill_with="x")|list | [1,2,3,4]|slice(3, fill_with="x")|map("list")|list | [1,2,3]|slice(-1)|list | [1,2]|slice(0)|list | s is sameas s | 1 is sameas true | none is sameas none | l is sameas l | l is sameas [3,1,2] | [1,2]|sum(start=10) | p|sum("age")
strftime_now("%U %W %V %G %g %C %u") | strftime_now("%k %l %P %r") | strftime_now("%-d %e %-k") | strftime_now(format="%d")
"""

TEMPLATES = [
    "a\n{% if t %}\nb\n{% endif %}\nc\n", "  {% if t %}x{% endif %}  \n  {{ n }}\n", "a {%- if t -%} b {%- endif -%} c", "{% if t +%}\n x\n  {%+ endif %}\ny",
    "{# c #}\nx{#- c -#} y\n\n", "{% raw %}{{ x }}{% if %}{% endraw %}\nz", "x {%- raw -%}  {{ a }} {% endraw -%}  y", "{{ '{{' }}}}{{ '}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }};{% else %}none{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [1] %}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}none{% endfor %}", "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% set ns = namespace(k=false) %}{% for x in l if not ns.k %}{{ x }}{% set ns.k = true %}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% set x = 0 %}{% for i in l %}{{ x }}{% set x = x + i %}{% endfor %}{{ x }}", "{% set ns = namespace(x=0, y=[]) %}{% for i in l %}{% set ns.x = ns.x + i %}{% set ns.y = ns.y + [i] %}{% endfor %}{{ ns.x }}{{ ns.y }}", "{% set d.x = 1 %}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = 1 %}",
    "{% set x %}hi {{ n }}{% endset %}[{{ x }}]", "{% set x | upper | replace('H', 'J') %}hi{% endset %}{{ x }}", "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter indent(2) | trim %} a\nb{% endfilter %}", "{% set x = 1 %}{% set y %}{% set x = 2 %}{% endset %}{{ x }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(c=5, a=4) }} {{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}", "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in {{ n }}{% endcall %}", "{% macro m() %}[{{ caller(1, 2) }}]{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% macro m() %}x{% endmacro %}{{ m.name }}",
    "{% generation %}a{{ n }}{% endgeneration %}\nb", "{% set x = 1 %}{% generation %}{% set x = 2 %}{% endgeneration %}{{ x }}", "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% if missing %}a{% elif n == 5 %}b{% else %}c{% endif %}", "{% if missing.x %}a{% endif %}",
    "{% for x in missing %}a{% else %}b{% endfor %}", "{% for x in 5 %}a{% endfor %}", "{% for x in s %}{{ x }}.{% endfor %}", "{% for x in d %}{{ x }}{% endfor %}", "{% for i in range(3) %}{% for j in range(2) %}{{ i }}{{ j }}{{ loop.index }} {% endfor %}{{ loop.index }}{% endfor %}",
    "{% set g = p|map(attribute='name') %}{{ g|list }}{{ g|list }}", "{% if []|select %}yes{% endif %}", "{% set g = l|select %}{{ g|length }}", "{% set l = l + [4] %}{{ l }}", "{{ range(3)|map('string')|join('-') }}", "{% include 'x' %}", "{% extends 'x' %}", "{% nope %}", "{% if %}", "{{ }}", "{{ 1 2 }}", "{{ (1 }}", "{{ 1", "{% if t %}", "{# x", "{% raw %}", "{{ 'a }}", "{% endif %}", "{% break %}", "{{ a b }}", "{{ ! }}", "{% set 1 = 2 %}", "{% set true = 2 %}", "a\r\nb\rc\n\n", "",
    "{{ m(*[1, 2]) }}", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 1, 'b': 2}) }}", "{% for m in p %}{% set x = m.name %}{% if loop.last %}{{ x }}{% endif %}{% endfor %}", "{%- for x in l -%} {{- x -}} {%- endfor -%}", "{%- set x = [1,\n2,\n3] -%}\n{{ x }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}", "{% set j = joiner(',') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
]

# Loops: recursive ones, and that items are taken when they are asked for.
TEMPLATES += [
    '{% for x in tree recursive %}{{ x.n }}[{{ loop(x.c) }}]{% endfor %}',
    '{% for x in tree recursive %}{{ x.n }}{% if x.c %}[{{ loop(x.c) }}]{% endif %}{% endfor %}',
    '{% for x in tree recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ loop.index }}/{{ loop.length }}{{ x.n }}{{ loop(x.c) }}{% endfor %}{{ loop is defined }}',
    '{% for x in tree recursive %}{{ x.n }}({{ loop(x.c) }}){% else %}-{% endfor %}',
    '{% for x in [] recursive %}{{ loop(x) }}{% else %}none{{ loop }}{% endfor %}',
    "{% for x in tree if x.n != 'c' recursive %}{{ loop.last }}{{ x.n }}{{ loop(x.c) }}{% endfor %}",
    '{% for x in tree recursive %}{{ loop(x.c)|upper }}{{ x.n }}{% set y = loop(x.c) %}{{ y|length }}{% endfor %}',
    '{% for x in tree recursive %}{% set y = x.n %}{{ y }}{{ loop(x.c) }}{{ y }}{% endfor %}',
    '{% for x in tree recursive %}{{ y is defined }}{% set y = x.n %}{{ loop(x.c) }}{{ y }}{% endfor %}',
    "{% set y = 'o' %}{% for x in tree recursive %}{{ y }}{% set y = x.n %}{{ loop(x.c) }}{{ y }}{% endfor %}{{ y }}",
    '{% for x in tree recursive %}{{ x.n }}{% for z in x.c or [] %}{{ loop(z.c) }}{% endfor %}{% endfor %}',
    '{% for x in tree recursive %}{% set outer = loop %}{{ x.n }}{% for z in x.c or [] %}{{ loop.index }}{{ loop.depth }}{{ outer([z]) }}{% endfor %}{% endfor %}',
    '{% for x in tree recursive %}{{ x.n }}{% for z in x.c recursive %}<{{ z.n }}{{ loop(z.c) }}{{ loop.depth }}>{% endfor %}{{ loop(x.c) }}{% endfor %}',
    '{% set ns = namespace(f=none) %}{% for x in tree recursive %}{% set ns.f = loop %}{{ x.n }}{% endfor %}{{ ns.f(tree[0].c) }}{{ ns.f.index }}{{ ns.f.last }}',
    '{% set ns = namespace(f=none) %}{% macro m(z) %}{% for x in tree recursive %}{% set ns.f = loop %}{{ x.n }}{{ z }}{% endfor %}{% endmacro %}{{ m(5) }}{{ ns.f(tree[0].c) }}',
    "{% for x in tree recursive %}{{ x.n }}{% if x.n == 'b' %}{% break %}{% endif %}{{ loop(x.c) }}{% endfor %}",
    "{% for x in tree recursive %}{% if x.n == 'b' %}{% continue %}{% endif %}{{ x.n }}{{ loop(x.c) }}{% endfor %}",
    '{% for x in tree recursive %}{% else %}{% break %}{% endfor %}',
    '{% for q in l %}{% for x in tree recursive %}{% else %}{% break %}{% endfor %}{% endfor %}',
    '{% for q in l %}{% for x in [] %}{% else %}{{ q }}{% break %}{% endfor %}{% endfor %}',
    '{% for x in tree recursive %}{{ loop() }}{% endfor %}',
    '{% for x in tree recursive %}{{ loop(x.c, 1) }}{% endfor %}',
    '{% for x in tree recursive %}{{ loop(iterable=x.c) }}{{ x.n }}{% endfor %}',
    '{% for x in tree recursive %}{{ loop(x.c, y=1) }}{% endfor %}',
    '{% for x in tree recursive %}{{ loop(none) }}{% endfor %}',
    '{% for x in tree recursive %}{{ loop(5) }}{% endfor %}',
    '{% for x in l recursive %}{{ loop(l) }}{% endfor %}',
    "{% for x in l recursive %}{% if loop.depth < 4 %}{{ x }}{{ loop('ab') }}{% endif %}{% endfor %}",
    '{% for x in l recursive %}{% if loop.depth < 4 %}{{ x }}{{ loop(range(2)) }}{% endif %}{% endfor %}',
    '{% for k, v in d.items() recursive %}{{ k }}{% if v is mapping %}({{ loop(v.items()) }}){% endif %}{% endfor %}',
    "{% for k, v in d|dictsort recursive %}{{ '  ' * loop.depth0 }}{{ k }}{% if v is mapping %}\n{{ loop(v|dictsort) }}{% endif %}{% endfor %}",
    '{% for x in tree recursive %}{{ loop.previtem.n }}{{ loop.nextitem.n }}{{ loop(x.c) }}{% endfor %}',
    "{% for x in tree recursive %}{{ loop.previtem.n if not loop.first }}{{ loop.nextitem.n if not loop.last }}{{ loop(x.c) }}{{ loop.cycle('p', 'q') }}{{ loop.changed(x.n) }}{% endfor %}",
    '{% for x in tree recursive %}{% filter upper %}{{ x.n }}{{ loop(x.c) }}{% endfilter %}{% endfor %}',
    '{% for x in tree recursive %}{% set y %}{{ x.n }}{{ loop(x.c) }}{% endset %}({{ y }}){% endfor %}',
    '{% for x in tree recursive %}{% macro m(a) %}<{{ a }}{{ x.n }}>{% endmacro %}{{ m(1) }}{{ loop(x.c) }}{{ m(2) }}{% endfor %}',
    '{% macro w() %}[{{ caller() }}]{% endmacro %}{% for x in tree recursive %}{% call w() %}{{ x.n }}{{ loop(x.c) }}{% endcall %}{% endfor %}',
    '{% for x in tree if x is defined recursive %}{{ x.n }}{% endfor %}',
    '{% for x in tree recursive if x.n %}{{ x.n }}{% endfor %}',
    '{% for recursive in l %}{{ recursive }}{% endfor %}',
    '{% set recursive = [1, 2] %}{% for x in recursive %}{{ x }}{% endfor %}',
    '{% set recursive = [1, 2] %}{% for x in recursive recursive %}{{ x }}{% endfor %}',
    '{% for x in (1, 2) recursive %}{{ x }}{% endfor %}',
    '{% for x in 1, 2 recursive %}{{ x }}{% endfor %}',
    "{% for x in tree|map(attribute='n') recursive %}{{ x }}{% endfor %}",
    "{% for x in tree|selectattr('c') recursive %}{{ x.n }}({{ loop(x.c|selectattr('c')) }}){% endfor %}",
    '{% for x in l %}{% set loop = 1 %}{% endfor %}',
    '{% for x in l %}{% else %}{% set loop = 1 %}{% endfor %}',
    '{% for x in l %}{% macro m() %}{% set loop = 1 %}{% endmacro %}{% endfor %}',
    '{% for x in l %}{% for a, loop in [] %}{% endfor %}{% endfor %}',
    '{% for x in l %}{% set a, loop = 1, 2 %}{% endfor %}',
    '{% for x in l %}{% set loop %}{% endset %}{% endfor %}',
    '{% with loop = 5 %}{% for x in l if loop == 5 %}{{ x }}{% endfor %}{% endwith %}',
    '{% for x in l %}{{ loop is callable }}{% if loop %}y{% endif %}{{ loop is sequence }}{{ loop is mapping }}{% endfor %}',
    '{% for x in l %}{{ loop(l) }}{% endfor %}',
    '{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{{ loop.index }}{{ x }}{% set ns.f = true %}{% endfor %}',
    '{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{{ loop.last }}{{ loop.index }}{{ x }}{% set ns.f = true %}{% endfor %}',
    '{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{% set ns.f = true %}{{ loop.last }}{{ loop.index }}{{ x }}{% endfor %}',
    '{% set ns = namespace(f=false) %}{% for x in l if not ns.f %}{{ loop.length }}{{ x }}{% set ns.f = true %}{% endfor %}',
    '{% set ns = namespace(l=none) %}{% for x in l if not ns.l or not ns.l.last %}{{ x }}{% set ns.l = loop %}{% endfor %}',
    '{% set g = l|select %}{% for x in g %}{% if x == 1 %}{% break %}{% endif %}{% endfor %}{{ g|list }}',
    '{% set g = l|select %}{% for x in g %}{{ loop.index }}{% if x == 1 %}{% break %}{% endif %}{% endfor %}{{ g|list }}',
    '{% set g = l|select %}{% for x in g %}{{ loop.last }}{% if x == 3 %}{% break %}{% endif %}{% endfor %}{{ g|list }}',
    '{% set g = l|select %}{% for x in g %}{{ x }}{% for y in g %}{{ y }}{% endfor %};{% endfor %}',
    '{% set g = l|select %}{% for x in g %}{{ loop.revindex }}{{ loop.length }}{{ loop.revindex0 }}{{ loop.last }}{{ loop.nextitem }}{% endfor %}',
    '{% for x in range(3) %}{% if loop.index == 2 %}{{ loop.length }}{% endif %}{{ loop.last }}{{ loop.nextitem }}{{ loop.previtem }}{% endfor %}',
    '{% for (x,) in [(1,)] %}{{ x }}{% endfor %}',
    '{% set (x,) = [1] %}{{ x }}',
    '{% set a, = [1] %}{{ a }}',
    '{% for x, in [(1,)] %}{{ x }}{% endfor %}',
    '{% set a.b.c = 1 %}',
    '{% with a.b = 1 %}{% endwith %}',
]

# Macros, namespaces and tags.
TEMPLATES += [
    '{% for x in l %}{{ loop.changed(x) }}{{ loop.changed(x % 2, 1) }}{% endfor %}',
    '{% for x in l %}{{ loop.depth }}{{ loop.depth0 }}{% for y in l %}{{ loop.depth }}{% endfor %}{% endfor %}',
    '{% set ns = namespace(**d) %}{{ ns.b }}{{ ns.a }}',
    '{% set ns = namespace(d, z=1) %}{{ ns.b }}{{ ns.z }}',
    '{% set ns = namespace(b=1) %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}',
    "{% set ns = namespace(b=1) %}{% set ns['a'] = 1 %}",
    '{% for ns.x in l %}{% endfor %}',
    "{% macro m(a, b) %}{{ caller('x', k='y') }}{% endmacro %}{% call(v, k=1) m(1, b=2) %}{{ v }}{{ k }}{% endcall %}",
    "{% macro m(a, b) %}{{ caller('x') }}{% endmacro %}{% call(v, k=n) m(1, b=2) %}{{ v }}{{ k }}{% endcall %}",
    '{% macro m() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ m() }}{% call m() %}q{% endcall %}',
    '{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m() }}',
    '{% macro m(caller=none) %}{{ caller }}{% endmacro %}{{ m() }}{% call m() %}q{% endcall %}',
    '{% macro m(caller=none) %}{{ caller() if caller }}{% endmacro %}{{ m() }}{% call m() %}q{% endcall %}',
    '{%- raw %} {{ x }} {% endraw %}',
    '{%- raw -%} {{ x }} {%- endraw -%} b',
    '{% set (a, b) = (1, 2) %}{{ a }}{{ b }}',
    '{% with a=1, b=a %}{{ b }}{% endwith %}',
    '{% with (a, b) = (1, 2) %}{{ a }}{{ b }}{% endwith %}',
    '{% filter indent(width=2) %}a\nb{% endfilter %}',
    '{% filter e %}<{% endfilter %}',
    '{% print n %}',
    '{% print n, s %}',
    '{% for x, y in d|dictsort %}{{ x }}{% endfor %}',
    '{% for x, y in d|items %}{{ x }}{% endfor %}',
    '{% for x in none %}{% endfor %}',
    '{% for x in none or [] %}{% endfor %}',
    '{% macro m(kwargs, varargs=1) %}{{ kwargs }}{{ varargs }}{% endmacro %}{{ m(3) }}',
    '{% macro m(a, b=1) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}{{ m }}',
    '{% macro m() %}{{ caller.name }}{{ caller.arguments }}{{ caller }}{% endmacro %}{% call(a) m() %}{% endcall %}',
    '{% print %}',
    '{% print n, %}',
    '{% print n s %}',
]


def expressions():
    return [part.strip() for line in EXPRESSIONS.strip().splitlines() for part in line.split(" | ")]
