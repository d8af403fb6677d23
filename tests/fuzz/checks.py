"""What schemathesis checks of our own contract beside its own checks; it loads this by SCHEMATHESIS_HOOKS."""

import schemathesis
from schemathesis import Case, CheckContext, Response

BEYOND_A_SCHEMA = frozenset({"invalid-url", "url-not-allowed", "callback-not-allowed", "header-not-allowed"}) | {
    "idempotency-key-reused",
    "invalid-cursor",
    "json-too-deep",
}
"""Refusals of what no JSON schema can tell: whether a URL may be fetched, a cursor was issued, a key is new."""

BEYOND_FIELDS = frozenset({"value", "repeated"})
"""As above, of single fields: settings' caps, fields that exclude each other, names in two spellings."""

FRACTION = "Expected `int`, got `float`"
"""To a JSON schema 1.0 is a whole number. The contract says in words that it is none here."""


@schemathesis.check
def what_fits_the_contract_is_refused_for_a_named_reason(ctx: CheckContext, response: Response, case: Case) -> None:
    """In place of `positive_data_acceptance`, which knows no reason beyond the schema."""
    del ctx
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code not in {400, 422}:
        return
    problem = response.json()
    name = problem["type"].rpartition("/")[2]
    mistakes = problem.get("errors", [])
    fields = all(mistake["code"] in BEYOND_FIELDS or mistake["detail"] == FRACTION for mistake in mistakes)
    named = name in BEYOND_A_SCHEMA or (name == "invalid-request" and mistakes and fields)
    assert named, f"the contract promises that this is taken: {problem}"


@schemathesis.check
def what_does_not_fit_is_refused_within_a_bulk(ctx: CheckContext, response: Response, case: Case) -> None:
    """In place of `negative_data_rejection`: of a bulk that holds a wrong job the rest is taken."""
    del ctx
    is_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    if case.operation.path != "/jobs/bulk" or not is_wrong or response.status_code != 202:
        return
    if response.headers["content-type"] == ["application/json"]:
        assert any("type" in item for item in response.json()["items"]), "every job was taken"


@schemathesis.check
def every_refusal_is_a_problem(ctx: CheckContext, response: Response, case: Case) -> None:
    """RFC 9457, whatever was asked, with an id for support."""
    del ctx, case
    assert response.headers.get("x-request-id"), "no request id"
    if response.status_code >= 400:
        assert response.headers["content-type"] == ["application/problem+json"], response.headers
        problem = response.json()
        assert problem["status"] == response.status_code
        assert problem["type"].startswith("/problems/")
