"""What passes between a server and an engine is plain data: no member points to anything but what is immutable and shared."""
import pathlib
import re

import pytest

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"


def members(text, struct):
    """The declarations of a struct, without comments and functions."""
    body = re.sub(r"//.*", "", re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.M | re.S)[1])
    return [line.strip() for line in re.sub(r"\{[^{}]*\}", "", body).split(";") if line.strip() and "(" not in line]


def pointing(member):
    return bool(re.search(r"[*&]|unique_ptr|function|string_view|span|shared_ptr<(?!const )", member))


@pytest.mark.parametrize("header,struct", [("engine/request.h", "Request"), ("engine/request.h", "Output"), ("engine/request.h", "RequestStats"),
                                           ("engine/time_spent.h", "TimeSpent"), ("engine/engine_limits.h", "EngineLimits"),
                                           ("engine/engine_client.h", "Heartbeat"), ("engine/engine_client.h", "PageUse"),
                                           ("chat/answer_grammar.h", "AnswerGrammar"), ("decode/sampling_params.h", "SamplingParams"),
                                           ("decode/beam_search.h", "BeamOptions")])
def test_what_passes_between_server_and_engine_points_to_nothing(header, struct):
    found = members((SRC / header).read_text(), struct)
    assert found
    assert [member for member in found if pointing(member)] == []


def test_a_pointer_is_seen():
    text = "struct A {\n  int plain = 0;  // a * b\n  std::shared_ptr<const B> shared;\n  C* c = nullptr;\n  std::shared_ptr<D> d;\n};\n"
    assert [member for member in members(text, "A") if pointing(member)] == ["C* c = nullptr", "std::shared_ptr<D> d"]
