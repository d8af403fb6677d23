"""The object store adapter on a real S3 server."""

import asyncio
import hashlib
import os
import socket
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import aiohttp
import pytest
from yarl import URL

from scrapejobs.adapters.storage import SINGLE_PUT_BYTES, ObjectStore, StorageUnavailable
from tests.chaos import troubles
from tests.chaos.proxy import proxy_to
from tests.integration.object_stores import object_store, put


async def download(link: str) -> tuple[int, bytes, Mapping[str, str]]:
    async with aiohttp.ClientSession() as session, session.get(URL(link, encoded=True)) as answer:
        return answer.status, await answer.read(), answer.headers


@pytest.fixture
def somebody_elses_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shell of one who works with a cloud of their own, behind a proxy."""
    (tmp_path / "config").write_text("[broken")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "of-another-account")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")


@pytest.mark.usefixtures("somebody_elses_cloud")
async def test_only_the_settings_say_which_store_it_is(store: ObjectStore) -> None:
    await asyncio.to_thread(store.delete_prefix, "none/")
    await put(store, "of/ours", b"page")
    assert await store.head("of/ours") == 4


@pytest.mark.req("FR-8")
@pytest.mark.parametrize("size", [0, 1, 200 * 1024, 1024 * 1024, 1024 * 1024 + 1, 5 * 1024 * 1024])
async def test_a_put_body_comes_back_through_its_link_byte_for_byte(store: ObjectStore, size: int) -> None:
    data = os.urandom(size)
    key = f"2026-11-30/7/{uuid4()}/1"
    await put(store, key, data)
    assert await store.head(key) == size
    link = await asyncio.to_thread(store.presign_get, key, expires_s=60, filename="page")
    status, body, _ = await download(link)
    assert status == 200
    assert body == data


@pytest.mark.req("FR-8")
@pytest.mark.parametrize("more", [1, 5 * 1024 * 1024])
async def test_a_very_large_body_goes_in_parts_and_comes_back_whole(store: ObjectStore, more: int) -> None:
    data = os.urandom(1024 * 1024) * (SINGLE_PUT_BYTES // (1024 * 1024)) + os.urandom(more)
    key = f"2026-11-30/7/{uuid4()}/1"
    await put(store, key, data)
    assert await store.head(key) == len(data)
    link = await asyncio.to_thread(store.presign_get, key, expires_s=60, filename="page")
    _, body, _ = await download(link)
    assert hashlib.sha256(body).digest() == hashlib.sha256(data).digest()


@pytest.mark.req("P3")
async def test_of_an_upload_in_parts_that_breaks_off_no_object_is_left(object_store_url: str) -> None:
    key = f"2026-11-30/7/{uuid4()}/1"
    data = bytes(SINGLE_PUT_BYTES + 1)
    with proxy_to(object_store_url) as proxy:
        store = object_store(proxy.url)
        proxy.bring(troubles.CutPut(after_bytes=1024 * 1024))
        with pytest.raises(StorageUnavailable):
            await put(store, key, data)
        proxy.heal()
        assert await store.head(key) is None
        await put(store, key, data)
        assert await store.head(key) == len(data)
        await store.close()


@pytest.mark.req("FR-8")
async def test_a_body_on_disk_is_put_and_its_file_stays_open_for_the_caller(store: ObjectStore) -> None:
    data = os.urandom(3 * 1024 * 1024)
    key = f"2026-11-30/7/{uuid4()}/1"
    with tempfile.SpooledTemporaryFile(max_size=1024) as file:
        file.write(data)
        file.seek(0)
        await store.put(key, file, size=len(data), sha256=hashlib.sha256(data).hexdigest(), content_type=None)
        assert not file.closed
    assert await store.head(key) == len(data)


@pytest.mark.case("target-32")
@pytest.mark.case("S19")
async def test_a_link_serves_an_attachment_of_no_type_whatever_the_target_said(store: ObjectStore) -> None:
    key = f"2026-11-30/7/{uuid4()}/1"
    await put(store, key, b"<script>alert(1)</script>", content_type="text/html")
    link = await asyncio.to_thread(store.presign_get, key, expires_s=60, filename='Bücher + "1".html')
    _, body, headers = await download(link)
    assert body == b"<script>alert(1)</script>"
    assert headers["Content-Type"] == "application/octet-stream"
    disposition = headers["Content-Disposition"]
    assert disposition.startswith('attachment; filename="B_cher + _1_.html"')
    assert disposition.endswith("filename*=UTF-8''B%C3%BCcher%20%2B%20%221%22.html")


@pytest.mark.req("FR-8")
async def test_a_link_ends_when_it_says_and_cannot_be_changed(store: ObjectStore) -> None:
    key = f"2026-11-30/7/{uuid4()}/1"
    await put(store, key, b"secret")
    link = await asyncio.to_thread(store.presign_get, key, expires_s=60, filename="page")
    query = parse_qs(urlsplit(link).query)
    assert query["X-Amz-Expires"] == ["60"]
    status, _, _ = await download(link.replace("X-Amz-Expires=60", "X-Amz-Expires=61"))
    assert status == 403


@pytest.mark.case("S19")
async def test_links_name_the_public_endpoint(object_store_url: str) -> None:
    store = ObjectStore(
        object_store_url,
        public_endpoint="https://results.example",
        bucket="scrapejobs",
        region="us-east-1",
        key="key-id",
        secret="secret-key",
    )
    link = await asyncio.to_thread(store.presign_get, "a/b", expires_s=60, filename="page")
    assert link.startswith("https://results.example/scrapejobs/a/b?")


@pytest.mark.case("S19")
async def test_a_key_with_spaces_and_signs_is_signed_as_it_is_sent(store: ObjectStore) -> None:
    key = f"2026-11-30/{uuid4()}/a b+c'ü(1)*.html"
    await put(store, key, b"x")
    assert await store.head(key) == 1
    await store.delete(key)
    assert await store.head(key) is None


async def test_deleting_what_is_not_there_is_no_error(store: ObjectStore) -> None:
    await store.delete(f"2026-11-30/7/{uuid4()}/1")


@pytest.mark.req("NFR-9")
async def test_deleting_a_prefix_removes_its_objects_and_no_others(store: ObjectStore) -> None:
    tenant = uuid4()
    doomed = [f"2026-10-01/{tenant}/{number}" for number in range(12)]
    kept = f"2026-10-02/{tenant}/1"
    for key in [*doomed, kept]:
        await put(store, key, b"x")
    assert await asyncio.to_thread(store.delete_prefix, f"2026-10-01/{tenant}/") == 12
    assert [await store.head(key) for key in doomed] == [None] * 12
    assert await store.head(kept) == 1


async def test_a_bucket_is_made_once_and_then_found(object_store_url: str) -> None:
    store = object_store(object_store_url, bucket=f"bucket-{uuid4().hex[:12]}")
    with pytest.raises(StorageUnavailable):
        await asyncio.to_thread(store.delete_prefix, "none/")
    for _ in range(2):
        await asyncio.to_thread(store.ensure_bucket)
        await asyncio.to_thread(store.delete_prefix, "none/")


async def test_a_wrong_secret_is_unavailable_and_not_a_missing_object(object_store_url: str) -> None:
    store = object_store(object_store_url, secret="another-secret-key")
    try:
        with pytest.raises(StorageUnavailable):
            await store.head("2026-11-30/7/a/1")
        with pytest.raises(StorageUnavailable):
            await put(store, "2026-11-30/7/a/1", b"x")
    finally:
        await store.close()


@pytest.mark.req("NFR-7")
@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_machine_whose_clock_is_wrong_is_refused_once_and_then_signs_by_the_clock_of_the_store(
    object_store_url: str, hours: int
) -> None:
    store = object_store(object_store_url, ahead=timedelta(hours=hours))
    key = f"2026-11-30/7/{uuid4()}/1"
    try:
        with pytest.raises(StorageUnavailable):
            await put(store, key, b"page")
        await put(store, key, b"page")
        assert await store.head(key) == 4
    finally:
        await store.close()


@pytest.mark.req("NFR-3")
async def test_a_store_that_is_down_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        endpoint = f"http://127.0.0.1:{reserved.getsockname()[1]}"
    store = object_store(endpoint)
    try:
        with pytest.raises(StorageUnavailable):
            await put(store, "2026-11-30/7/a/1", b"x")
        with pytest.raises(StorageUnavailable):
            await asyncio.to_thread(store.delete_prefix, "none/")
    finally:
        await store.close()
