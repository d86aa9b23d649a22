"""A small local hub that speaks the Hugging Face hub's HTTP protocol, and fails on request.

It stands in for the only thing that the tests cannot reach, the hub on the internet: the runtime and
huggingface_hub are the real ones. Responses follow the hub's own documentation and what its client expects:
commits, ETag, X-Repo-Commit, X-Linked-Etag, X-Linked-Size, ranges, redirects of large files, X-Error-Code.
"""

from tests.hub.faults import Fault
from tests.hub.record import Seen
from tests.hub.remote import RemoteHub
from tests.hub.server import Hub

__all__ = ["Fault", "Hub", "RemoteHub", "Seen"]
