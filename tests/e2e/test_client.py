"""The Python client on the real service, whose lines break now and then."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrapejobs_client import ApiError, Client, DownloadError, UnreachableError, WaitTimeoutError
from scrapejobs_client.client import PAGE, TOGETHER
from tests.chaos.troubles import Hold, LoseAnswer, Refuse, Trouble, Unavailable
from tests.e2e.standing import CutAnswer, Falsify, Listen, Standing
from tests.e2e.target import long_page, page
from tests.e2e.waiting import wait_until


@pytest.fixture(autouse=True)
def _healed(standing: Standing) -> Iterator[None]:
    yield
    standing.api.heal()
    standing.store.heal()


def stored(standing: Standing, path: str) -> str:
    """The id of a succeeded job."""
    with standing.client() as client:
        job = client.wait(client.submit(standing.target.url(path)).id, timeout_s=60)
    assert job.has_succeeded, job
    return job.id


def while_(trouble: Trouble, standing: Standing, *, count: str, times: int, call: Callable[[], object]) -> object:
    """What the call gives that began in trouble and saw so much of it before it ended."""
    before = standing.api.counts[count]
    standing.api.bring(trouble)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call)
        try:
            wait_until(lambda: standing.api.counts[count] - before >= times, what=f"{count} {times} times")
        finally:
            standing.api.heal()
        return future.result(60)


@pytest.mark.req("FR-1")
@pytest.mark.req("FR-8")
def test_what_is_submitted_waited_for_and_downloaded_are_the_targets_bytes(standing: Standing, tmp_path: Path):
    with standing.client() as client:
        receipt = client.submit(standing.target.url("/page/main"), tags={"run": "main"}, priority="high")
        assert (receipt.status, receipt.is_replayed) == ("queued", False)
        job = client.wait(receipt.id, timeout_s=60)
        assert (job.status, job.priority, dict(job.tags)) == ("succeeded", "high", {"run": "main"})
        file = client.download(job.id, tmp_path)
        assert file.read_bytes() == page("/page/main")
        assert [attempt.target_status for attempt in client.attempts(job.id)] == [200]
        assert [found.id for found in client.jobs(tags={"run": "main"})] == [job.id]


@pytest.mark.req("FR-2")
def test_a_job_whose_receipt_was_lost_is_handed_in_again_and_is_one(standing: Standing):
    before = standing.api.counts["lost"]
    standing.api.bring(LoseAnswer(b"POST /jobs", times=1))
    with standing.client() as client:
        receipt = client.submit(standing.target.url("/page/lost"))
    assert standing.api.counts["lost"] - before == 1
    assert receipt.is_replayed
    assert standing.service.rows("SELECT id::text FROM job WHERE url LIKE '%/page/lost'") == [(receipt.id,)]


@pytest.mark.req("FR-2")
def test_a_call_that_a_proxy_refuses_for_now_is_repeated_until_it_is_taken(standing: Standing):
    with standing.client() as client:
        receipt = while_(
            Unavailable(), standing, count="unavailable", times=3,
            call=lambda: client.submit(standing.target.url("/page/unavailable")),
        )  # fmt: skip
        assert client.job(receipt.id).id == receipt.id


def test_a_service_that_is_away_for_longer_than_the_time_for_retries_is_unreachable(standing: Standing):
    standing.api.bring(Refuse())
    with standing.client(retry_for_s=0.5) as client, pytest.raises(UnreachableError, match="ConnectionError"):
        client.submit(standing.target.url("/page/away"))


@pytest.mark.req("FR-2")
@pytest.mark.req("FR-3")
def test_many_are_each_one_job_though_an_answer_was_lost_and_are_listed_page_by_page(standing: Standing):
    n = PAGE + 30
    urls = [standing.target.url(f"/page/bulk-{i}", host=1 + i % 2) for i in range(n)]
    before = standing.api.counts["lost"]
    standing.api.bring(LoseAnswer(b"POST /jobs/bulk", times=1))
    with standing.client() as client:
        told = list(client.submit_many({"url": url, "tags": {"run": "bulk"}} for url in urls))
        assert standing.api.counts["lost"] - before == 1
        assert [one.index for one in told] == list(range(n))
        assert all(one.receipt and one.receipt.is_replayed for one in told)
        listed = [job.id for job in client.jobs(tags={"run": "bulk"})]
    assert listed == [one.receipt.id for one in reversed(told)]  # newest first, each once
    rows = standing.service.rows("SELECT url, id::text FROM job WHERE tags ->> 'run' = 'bulk' ORDER BY id")
    assert rows == [(url, one.receipt.id) for url, one in zip(urls, told, strict=True)]


@pytest.mark.req("FR-3")
def test_an_item_that_is_wrong_in_whatever_way_spoils_no_other(standing: Standing):
    good = standing.target.url("/page/good")
    wrong = [
        {"url": "ftp://x/"},
        {"url": "http://h/\ud800"},
        {"url": good, "params": {"json": deep(300)}},
        {"uri": good},
    ]
    long = {"url": good, "params": {"method": "POST", "body": "x" * 300_000}}
    with standing.client() as client:
        told = list(client.submit_many([good, *wrong, long, good]))
    assert [one.is_accepted for one in told] == [True, *[False] * 5, True]
    assert told[5].problem.name == "payload-too-large"
    assert [mistake.pointer for mistake in told[4].problem.errors] == ["/uri"]


def deep(n: int) -> object:
    return [deep(n - 1)] if n else []


@pytest.mark.req("FR-3")
def test_what_a_full_queue_refuses_is_handed_in_when_there_is_room(standing: Standing):
    service = standing.service
    key = service.key("narrow")
    service.manage("tenants", "set", "narrow", "--max-queued", "1")
    urls = [standing.target.url(f"/page/narrow-{n}") for n in range(4)]
    with Client(standing.api.url, key) as client:
        told = list(client.submit_many(urls))
        assert all(one.is_accepted for one in told)
        assert {job.status for job in client.ended(one.receipt.id for one in told)} == {"succeeded"}
    assert all(standing.target.count()[f"/page/narrow-{n}"] == 1 for n in range(4))


@pytest.mark.req("FR-3")
def test_a_queue_that_stays_full_ends_a_run_and_a_state_file_lets_it_go_on(standing: Standing, tmp_path: Path):
    service = standing.service
    key = service.key("shut")
    service.manage("tenants", "set", "shut", "--max-queued", "0")
    url = standing.target.url("/page/shut")
    with Client(standing.api.url, key, retry_for_s=0.5) as client:
        with pytest.raises(ApiError) as refused:
            list(client.submit_many([url], state=tmp_path / "state"))
        assert refused.value.name == "queue-full"
        service.manage("tenants", "set", "shut", "--max-queued", "none")
        (one,) = client.submit_many([url], state=tmp_path / "state")
    assert one.is_accepted


@pytest.mark.req("FR-10")
def test_a_requeue_whose_answer_was_lost_is_not_repeated(standing: Standing):
    with standing.client() as client:
        job = client.wait(client.submit(standing.target.url("/status/410")).id, timeout_s=60)
        listen = LoseAnswer(b"/requeue", times=1)
        standing.api.bring(listen)
        before = standing.api.counts["lost"]
        with pytest.raises(UnreachableError):
            client.requeue(job.id)
        assert standing.api.counts["lost"] - before == 1
        assert client.wait(job.id, timeout_s=60).status == "failed"
        assert len(client.attempts(job.id)) == 2


def test_a_wait_that_the_service_asks_for_beyond_the_time_for_retries_is_told_at_once(standing: Standing):
    service = standing.service
    service.key("full")
    service.manage("tenants", "set", "full", "--max-queued", "0")
    with Client(standing.api.url, service.key("full"), retry_for_s=5.0) as client, pytest.raises(ApiError) as refused:
        client.submit(standing.target.url("/page/full"))
    assert (refused.value.name, refused.value.status, refused.value.retry_after_s) == ("queue-full", 429, 10.0)


@pytest.mark.req("FR-1")
def test_a_refusal_says_what_is_wrong_and_where(standing: Standing):
    with standing.client() as client, pytest.raises(ApiError) as refused:
        client.submit(standing.target.url("/page/1"), params={"timeout": 3})
    (mistake,) = refused.value.problem.errors
    assert (refused.value.name, refused.value.status) == ("invalid-request", 400)
    assert (mistake.pointer, mistake.code) == ("/params/timeout", "unknown_field")
    assert refused.value.request_id


def test_an_address_that_is_not_of_the_api_is_said_to_be_none(standing: Standing):
    with Client(standing.target.url("/page"), "sj_a_b") as client, pytest.raises(ApiError, match="address of the API"):
        client.submit("https://example.com/")


@pytest.mark.req("FR-5")
def test_waiting_ends_in_time_and_a_cancelled_job_is_final(standing: Standing):
    with standing.client() as client:
        receipt = client.submit(standing.target.url("/hold/wait"))
        with pytest.raises(WaitTimeoutError, match=receipt.id):
            client.wait(receipt.id, timeout_s=0.3)
        assert client.cancel(receipt.id).status == "cancelled"
        assert client.cancel(receipt.id).status == "cancelled"
        assert client.wait(receipt.id, timeout_s=30).status == "cancelled"


@pytest.mark.req("FR-8")
def test_results_gives_each_job_with_a_link_if_there_is_one(standing: Standing):
    with standing.client() as client:
        ids = [client.submit(standing.target.url(path)).id for path in ("/page/r1", "/status/404", "/page/r2")]
        ended = {one.job.id: one for one in client.results(ids)}
    assert [(ended[id_].job.status, ended[id_].link is not None) for id_ in ids] == [
        ("succeeded", True),
        ("failed", False),
        ("succeeded", True),
    ]


@pytest.mark.req("FR-4")
def test_a_job_that_hangs_keeps_none_back_that_has_ended(standing: Standing):
    with standing.client() as client:
        held = client.submit(standing.target.url("/hold/first")).id
        quick = [client.submit(standing.target.url(f"/page/quick-{n}")).id for n in range(TOGETHER + 5)]
        ended = client.ended(iter([held, *quick]))
        assert {next(ended).id for _ in quick} == set(quick)
        client.cancel(held)
        assert [(job.id, job.status) for job in ended] == [(held, "cancelled")]


@pytest.mark.req("FR-8")
def test_a_download_that_is_cut_goes_on_from_where_it_was(standing: Standing, tmp_path: Path):
    job_id = stored(standing, "/long/cut")
    standing.store.bring(CutAnswer(600_000))
    with standing.client() as client:
        file = client.download(job_id, tmp_path)
    assert standing.store.counts["cut answers"] == 1
    assert file.read_bytes() == long_page("/long/cut")


@pytest.mark.req("FR-8")
def test_what_an_earlier_download_left_is_not_fetched_again_and_the_store_never_sees_the_key(
    standing: Standing, tmp_path: Path
):
    job_id = stored(standing, "/long/part")
    with standing.client() as client:
        file = client.download(job_id, tmp_path, name="name")
        (tmp_path / ".name.part").write_bytes(long_page("/long/part")[:500_000])
        file.unlink()
        listen = Listen()
        standing.store.bring(listen)
        again = client.download(job_id, tmp_path, name="name")
        assert again.read_bytes() == long_page("/long/part")
        (head,) = listen.heads
        assert "\r\nRange: bytes=500000-\r\n" in head
        assert "Authorization" not in head
        assert client.download(job_id, tmp_path, name="name") == again
        assert len(listen.heads) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


@pytest.mark.req("FR-8")
def test_what_an_earlier_download_left_of_other_bytes_does_no_harm(standing: Standing, tmp_path: Path):
    job_id = stored(standing, "/page/other-part")
    (tmp_path / ".name.part").write_bytes(b"x" * 5000)
    with standing.client() as client:
        assert client.download(job_id, tmp_path, name="name").read_bytes() == page("/page/other-part")


@pytest.mark.req("FR-8")
def test_downloads_of_one_job_at_once_do_each_other_no_harm(standing: Standing, tmp_path: Path):
    job_id = stored(standing, "/long/at-once")
    with standing.client() as client, ThreadPoolExecutor(6) as pool:
        files = list(pool.map(lambda _: client.download(job_id, tmp_path, name="name"), range(6)))
    assert {file.read_bytes() for file in files} == {long_page("/long/at-once")}
    assert [path.name for path in tmp_path.iterdir()] == ["name"]


@pytest.mark.req("FR-8")
@pytest.mark.case("S19")
def test_a_link_that_expires_during_a_download_is_renewed(standing: Standing, tmp_path: Path):
    job_id = stored(standing, "/long/expired")
    standing.store.bring(Hold())
    before = standing.store.counts["held"]
    with standing.client(retry_for_s=20.0) as client, ThreadPoolExecutor(1) as pool:
        expires_at = client.result(job_id).expires_at
        future = pool.submit(client.download, job_id, tmp_path)
        wait_until(lambda: standing.store.counts["held"] > before, what="the download to begin")
        wait_until(lambda: (datetime.now(UTC) - expires_at).total_seconds() > 2, what="its link to expire")
        standing.store.heal()
        file = future.result(60)
    assert file.read_bytes() == long_page("/long/expired")


@pytest.mark.req("FR-8")
def test_bytes_that_are_not_those_that_were_stored_never_get_a_name(standing: Standing, tmp_path: Path):
    job_id = stored(standing, "/page/falsified")
    standing.store.bring(Falsify())
    with (
        standing.client() as client,
        pytest.raises(DownloadError, match=hashlib.sha256(page("/page/falsified")).hexdigest()),
    ):
        client.download(job_id, tmp_path, name="name")
    assert [path.name for path in tmp_path.iterdir()] == [".name.part"]


def test_threads_may_share_a_client(standing: Standing):
    with standing.client() as client:
        barrier = threading.Barrier(8)

        def one(n: int) -> str:
            barrier.wait(30)
            return client.submit(standing.target.url(f"/page/thread-{n}"), idempotency_key=f"thread-{n}").id

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(one, range(8)))
        assert [client.job(id_).url.rpartition("-")[2] for id_ in ids] == [str(n) for n in range(8)]
