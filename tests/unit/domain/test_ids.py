"""UUIDv7 and the days that ids belong to."""

from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from scrapejobs.domain.ids import KeyParts, day_of, first_at, first_of_day, key_parts, object_key, uuid7

RFC_EXAMPLE = UUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")


@pytest.mark.req("FR-1")
def test_the_example_of_rfc_9562_is_made_bit_for_bit() -> None:
    """Appendix A.6: 2022-02-22 14:22:22.00 GMT-05:00, rand_a 0xCC3, rand_b 0b01, 0x8C4DC0C0C07398F."""
    made = uuid7(unix_ms=0x017F22E279B0, random_bits=0xCC3 << 62 | 0x18C4DC0C0C07398F)
    assert made == RFC_EXAMPLE
    assert (made.version, made.variant) == (7, "specified in RFC 4122")


@pytest.mark.req("FR-6")
def test_ids_sort_by_time() -> None:
    most = (1 << 74) - 1
    assert uuid7(unix_ms=1000, random_bits=most) < uuid7(unix_ms=1001, random_bits=0)


@pytest.mark.req("NFR-9")
def test_an_id_belongs_to_the_utc_day_of_its_time() -> None:
    assert day_of(RFC_EXAMPLE) == date(2022, 2, 22)
    first = first_of_day(date(2022, 2, 22))
    assert day_of(first) == date(2022, 2, 22)
    assert day_of(UUID(int=first.int - 1)) == date(2022, 2, 21)
    assert first_at(datetime(2022, 2, 22, tzinfo=UTC)) == first
    assert first_at(datetime(1969, 1, 1, tzinfo=UTC)).int == 0


@pytest.mark.req("NFR-9")
def test_an_object_key_begins_with_the_day_and_ends_with_the_fence() -> None:
    assert object_key(job_id=RFC_EXAMPLE, tenant_id=7, seq=42) == f"2022-02-22/7/{RFC_EXAMPLE}/42"


@pytest.mark.req("NFR-9")
def test_a_key_of_ours_is_read_back_to_what_it_was_made_of() -> None:
    assert key_parts(f"2022-02-22/7/{RFC_EXAMPLE}/42") == KeyParts(RFC_EXAMPLE, 7, 42)


@pytest.mark.req("NFR-9")
@pytest.mark.parametrize(
    "key",
    [
        "",
        "readme.txt",
        f"2022-02-23/7/{RFC_EXAMPLE}/42",
        f"2022-02-22/07/{RFC_EXAMPLE}/42",
        f"2022-02-22/7/{RFC_EXAMPLE}/042",
        f"2022-02-22/7/{RFC_EXAMPLE}/0",
        f"2022-02-22/7/{RFC_EXAMPLE}/-1",
        f"2022-02-22/7/{RFC_EXAMPLE}/42/",
        f"2022-02-22/7/{RFC_EXAMPLE}/42\n",
        f"2022-02-22/7/{RFC_EXAMPLE}/\N{ARABIC-INDIC DIGIT FOUR}",
        f"2022-02-22/7/{RFC_EXAMPLE}/{10**18}",
        f"2022-02-22/7/{str(RFC_EXAMPLE).upper()}/42",
        f"2022-02-22/7/{'-' * 36}/42",
        f"9999-12-31/7/{UUID(int=(1 << 128) - 1)}/42",
    ],
)
def test_a_key_that_we_did_not_make_is_nobodys(key: str) -> None:
    assert key_parts(key) is None
