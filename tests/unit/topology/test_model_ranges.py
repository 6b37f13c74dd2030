# SPDX-License-Identifier: BSD-2-Clause
import pytest

from topology.errors import InputError
from topology.model import ranges


def test_delays_double() -> None:
    assert ranges.delays("500..32000") == [500, 1000, 2000, 4000, 8000, 16000, 32000]
    assert ranges.delays("4000") == ranges.delays("4000..4000") == [4000]
    assert ranges.delays("0,500") == [0, 500]


def test_the_upper_end_belongs_to_the_range() -> None:
    assert ranges.delays("500..3000") == [500, 1000, 2000, 3000]


def test_cores_are_counted() -> None:
    assert ranges.cores("1..4") == [1, 2, 3, 4]
    assert ranges.cores("28, 14,1..2,2") == [1, 2, 14, 28]


@pytest.mark.parametrize(
    "text", ["", "x", "1..", "..2", "0..100", "900..500", "-1", "nan", "inf", "1,,2", "1e-9..1e12"]
)
def test_bad_delays_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--delay"):
        ranges.delays(text)


@pytest.mark.parametrize("text", ["", "0", "x", "1.5", "4..2", "1..2..3", "1,", "-3", "99999", "1..999999999999"])
def test_bad_cores_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--cores"):
        ranges.cores(text)


def test_bounds() -> None:
    assert ranges.bounds("323,613") == (323, 613)
    assert ranges.bounds("none") is None


@pytest.mark.parametrize("text", ["", "323", "613,323", "0,5", "a,b", "1,2,3", "nan,5"])
def test_bad_bounds_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--bounds"):
        ranges.bounds(text)
