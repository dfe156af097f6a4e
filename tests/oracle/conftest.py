import pytest

pytest.register_assert_rewrite("comparison")

from comparison import Answers, Ours  # noqa: E402


@pytest.fixture
def ours():
    ours = Ours()
    yield ours
    ours.close()


@pytest.fixture(scope="session")
def grammars():
    answers = Answers("grammar_oracle")
    yield answers
    answers.close()
