"""Signatures, held against the other implementation that is at hand: botocore's."""

from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from scrapejobs.adapters.sigv4 import EMPTY_SHA256, Signer, object_path


@pytest.mark.parametrize("key", ["2026-11-30/7/a/1", "a b/\u00fc+(1)*'~.html"])
@pytest.mark.parametrize(
    ("method", "query"), [("PUT", ""), ("GET", ""), ("POST", "uploads="), ("PUT", "partNumber=2&uploadId=a%2Bb")]
)
def test_a_signature_equals_botocores(method: str, key: str, query: str) -> None:
    path = object_path("bucket", key)
    headers = {"Host": "s3.example:9000", "X-Amz-Content-SHA256": EMPTY_SHA256}
    request = AWSRequest(method, f"http://s3.example:9000{path}{query and '?' + query}", headers=headers)
    theirs = S3SigV4Auth(Credentials("key-id", "secret"), "s3", "eu-west-1")
    theirs.add_auth(request)
    at = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    signer = Signer(key="key-id", secret="secret", region="eu-west-1")
    ours = signer.headers(method, path, host="s3.example:9000", sha256=EMPTY_SHA256, now=at, query=query)
    assert ours["Authorization"] == request.headers["Authorization"]
