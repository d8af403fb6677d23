"""What is sealed can be opened by who has the key, as what it was sealed for, and by nobody else (NFR-12)."""

from uuid import UUID

import pytest

from scrapejobs.store.sealing import NO_KEYS, Damaged, KeyMissing, Ring, open_callback, open_request
from scrapejobs.store.transitions import fingerprint

OLD, NEW = "old-0123456789-0123456789-0123456789", "new-0123456789-0123456789-0123456789"
JOB, OTHER_JOB = UUID(int=1), UUID(int=2)
SECRET = {"headers": {"Authorization": "Bearer canary"}}

pytestmark = pytest.mark.req("NFR-12")


def test_the_first_key_seals_and_all_keys_open() -> None:
    sealed = Ring([OLD]).seal(SECRET, use="request", job_id=JOB)
    assert Ring([NEW, OLD]).open(sealed, use="request", job_id=JOB) == SECRET
    anew = Ring([NEW, OLD]).seal(SECRET, use="request", job_id=JOB)
    assert Ring([NEW]).open(anew, use="request", job_id=JOB) == SECRET


def test_without_its_key_nothing_is_opened() -> None:
    sealed = Ring([OLD]).seal(SECRET, use="request", job_id=JOB)
    for ring in (Ring([NEW]), NO_KEYS):
        with pytest.raises(KeyMissing):
            ring.open(sealed, use="request", job_id=JOB)
    with pytest.raises(KeyMissing):
        NO_KEYS.seal(SECRET, use="request", job_id=JOB)


def test_what_is_sealed_for_one_job_and_use_opens_for_no_other() -> None:
    sealed = Ring([OLD]).seal(SECRET, use="request", job_id=JOB)
    with pytest.raises(Damaged):
        Ring([OLD]).open(sealed, use="request", job_id=OTHER_JOB)
    with pytest.raises(Damaged):
        Ring([OLD]).open(sealed, use="callback", job_id=JOB)


@pytest.mark.parametrize("at", [4, 15, 16, -1])
def test_a_changed_byte_is_noticed(at: int) -> None:
    sealed = bytearray(Ring([OLD]).seal(SECRET, use="request", job_id=JOB))
    sealed[at] ^= 1
    with pytest.raises(Damaged):
        Ring([OLD]).open(bytes(sealed), use="request", job_id=JOB)


def test_what_is_erased_is_not_taken_for_what_never_was() -> None:
    row = {"url": "https://a.example/?k=***", "params": {}, "job_id": JOB}
    assert open_request(NO_KEYS, row | {"sealed": None}) == row | {"sealed": None}
    with pytest.raises(Damaged):
        open_request(Ring([OLD]), row | {"sealed": b""})
    with pytest.raises(Damaged):
        open_callback(Ring([OLD]), row | {"sealed": b""})


def test_the_same_secret_is_never_sealed_to_the_same_bytes() -> None:
    ring = Ring([OLD])
    assert len({ring.seal("x", use="callback", job_id=JOB) for _ in range(100)}) == 100


def test_a_mark_is_known_again_after_a_rotation_and_cannot_be_made_without_the_key() -> None:
    digest = fingerprint("/jobs", {"url": "https://a.example/", "params": {"body": "1234"}})
    (kept,) = Ring([OLD]).marks(digest)
    assert kept in Ring([NEW, OLD]).marks(digest)
    assert kept not in Ring([NEW]).marks(digest)
    assert digest not in kept
    assert kept != Ring([OLD]).marks(fingerprint("/jobs", {"url": "https://a.example/"}))[0]
