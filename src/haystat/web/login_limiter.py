"""How often somebody may try a wrong secret: one count for every way in."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

#: wrong secrets of one address, and of all of them, before they have to wait
BURST, BURST_OF_ALL = 10, 100
#: wrong secrets a second that are forgiven afterwards
RATE, RATE_OF_ALL = 1 / 6, 5.0
MOST_ADDRESSES = 10_000
EVERYBODY = ""


class Limiter:
    """Leaky buckets of wrong secrets, one an address and one for all addresses together.

    A network of 2^64 addresses (IPv6) is one address: whoever has one of them has all.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._level: dict[str, tuple[float, float]] = {}  # how full, and when that was

    def wait(self, address: str) -> float:
        """Seconds until a secret from an address is looked at again; 0 if it is looked at now."""
        own = self._now(network(address), RATE) - BURST + 1
        every = self._now(EVERYBODY, RATE_OF_ALL) - BURST_OF_ALL + 1
        return max(own / RATE, every / RATE_OF_ALL, 0.0)

    def failed(self, address: str) -> None:
        """A wrong secret came from an address."""
        for key, rate in ((network(address), RATE), (EVERYBODY, RATE_OF_ALL)):
            self._level[key] = self._now(key, rate) + 1, self._clock()
        if len(self._level) > MOST_ADDRESSES:
            self._forget()

    def _now(self, key: str, rate: float) -> float:
        level, since = self._level.get(key, (0.0, 0.0))
        return max(level - (self._clock() - since) * rate, 0.0)

    def _forget(self) -> None:
        """Drop the addresses that have waited long enough, or the older half."""
        every = self._level.pop(EVERYBODY)
        full = {key: entry for key, entry in self._level.items() if self._now(key, RATE) > 0}
        newest = sorted(full.items(), key=lambda entry: entry[1][1])[-MOST_ADDRESSES // 2 :]
        self._level = dict(newest) | {EVERYBODY: every}


@lru_cache(MOST_ADDRESSES)
def network(address: str) -> str:
    """The address, or its /64 network.

    >>> network("192.168.1.5"), network("2001:db8::1:2")
    ('192.168.1.5', '2001:db8::')
    """
    try:
        found = ip_address(address)
    except ValueError:  # a socket of this machine has no address
        return "local"
    if not isinstance(found, IPv6Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or IPv6Address(int(found) >> 64 << 64))
