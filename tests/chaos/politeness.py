"""What a host saw at its own door, against what it bears (NFR-6)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tests.chaos.history import Deed, History, Hit


def too_many(history: History) -> Iterator[str]:
    """A sentence for each host whose slots or whose rate were exceeded."""
    for host, hits in sorted(_by_host(history.hits).items()):
        most = _most_at_once(hits)
        if most > history.host_slots:
            yield f"host {host} had {most} exchanges at once; it has {history.host_slots} slots"
        over = _most_over([hit.at for hit in hits], rate=history.host_rate, burst=history.host_burst)
        if over > 0:
            yield (
                f"host {host} had {over:.3f} requests more in a stretch of time than {history.host_rate:g} a second and"
                f" {history.host_burst:g} at once"
            )


FOLLOWS_S = 1.0
"""So soon after a deed a pause begins that it has caused: what was ready by then still starts."""


def longest_pause_s(hits: Iterable[Hit], deeds: Iterable[Deed], *, until: float) -> float:
    """The longest time without a request, at whichever host, that one of the deeds can have caused; 0 without any."""
    moments = [*sorted(hit.at for hit in hits if hit.at < until), until]
    times = [deed.at for deed in deeds]
    pauses = pairwise(moments)
    return max((b - a for a, b in pauses if any(a <= at + FOLLOWS_S and at <= b for at in times)), default=0.0)


def _by_host(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    found: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.at):
        found[hit.host].append(hit)
    return found


def _most_at_once(hits: Iterable[Hit]) -> int:
    changes = [(hit.at, 1) for hit in hits] + [(hit.ended_at, -1) for hit in hits if hit.ended_at is not None]
    n_open = most = 0
    for _, change in sorted(changes):
        n_open += change
        most = max(most, n_open)
    return most


def _most_over(moments: list[float], *, rate: float, burst: float) -> float:
    """By how many requests the worst stretch of `t` seconds goes beyond `burst + rate x t`; 0 or less if none does."""
    level, last, over = burst, moments[0], -burst
    for at in moments:
        level = min(burst, level + (at - last) * rate) - 1
        last, over = at, max(over, -level)
    return over
