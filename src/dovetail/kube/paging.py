"""A list, page by page, the next one on its way while this one is read.

A server needs about as long to write a page as we need to decode it. Asked for the next page before the caller is given
this one, it writes while he reads, and the list takes as long as the slower of the two rather than both.

All pages are of one version. A server that forgets it halfway answers `Expired`; then the list begins anew, and its
next page is marked `first`. The third time it is asked for whole, which cannot expire.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final

from dovetail.kube.errors import Expired
from dovetail.kube.lists import Page, WireList

#: So often a list is asked for in pages before it is asked for whole.
_PAGED_TRIES: Final = 2

#: Ask for the page after a token, of at most so many items (0: as many as there are); decode what came.
Fetch = Callable[[str, int], Coroutine[Any, Any, bytes]]
Decode = Callable[[bytes], WireList[Any]]


async def paged(fetch: Fetch, decode: Decode, limit: int) -> AsyncGenerator[Page[Any], None]:
    token, first, tries = "", True, 1
    asked = asyncio.ensure_future(fetch("", limit))
    try:
        while True:
            try:
                body = await asked
            except Expired:
                if not token:
                    raise
                token, first, tries = "", True, tries + 1
                asked = asyncio.ensure_future(fetch("", limit if tries <= _PAGED_TRIES else 0))
                continue
            page = decode(body)
            token = page.metadata.token
            if token:
                asked = asyncio.ensure_future(fetch(token, limit))
                # Let it reach the wire: the caller may not let go of the loop before he is done with the page.
                await asyncio.sleep(0)
            yield Page(page.items or [], page.metadata.resource_version, first, not token)
            if not token:
                return
            first = False
    finally:
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
