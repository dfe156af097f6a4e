import pytest

pytest.register_assert_rewrite("comparison")

from comparison import Ours  # noqa: E402


@pytest.fixture
def ours():
    ours = Ours()
    yield ours
    ours.close()
