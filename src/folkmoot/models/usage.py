"""Costs of a remote model so far: requests, failures and tokens."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Final

_LOCK: Final = threading.Lock()  # of all of them: it is held for a moment, and models stay picklable


@dataclass
class Usage:
    """Counts of one model; threads may add to them at the same time.

    Parameters
    ----------
    requests : int
        Requests that were sent, each retry included.
    failed : int
        Requests without a usable answer of the server.
    prompt_tokens : int
        Tokens read by the model, as the server counts them.
    completion_tokens : int
        Tokens written by the model, as the server counts them.

    Examples
    --------
    >>> from folkmoot.models.usage import Usage
    >>> usage = Usage()
    >>> usage.add(requests=2, prompt_tokens=30)
    >>> usage.counts()
    {'requests': 2, 'failed': 0, 'prompt_tokens': 30, 'completion_tokens': 0}
    """

    requests: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(
        self, requests: int = 0, failed: int = 0, prompt_tokens: int = 0, completion_tokens: int = 0
    ) -> None:
        """Add to the counts."""
        with _LOCK:
            self.requests += requests
            self.failed += failed
            self.prompt_tokens += prompt_tokens
            self.completion_tokens += completion_tokens

    def counts(self) -> dict[str, int]:
        """All counts by name, of one moment."""
        with _LOCK:
            return asdict(self)
