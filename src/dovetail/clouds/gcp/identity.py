"""Who asks Compute Engine, and of which project.

Credentials are found the way every Google tool finds them: GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, workload
identity, the machine's service account. With an endpoint of one's own, which tests have, none are sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from dovetail.clouds.port import Misconfigured

#: How long Compute Engine may take for an answer. What takes longer is an operation, and answered at once.
SECONDS: Final = 30.0
#: Calls at a time; the SDK keeps ten connections.
THREADS: Final = 8
NO_SDK: Final = "Google's SDK is not installed; install dovetail[gcp]"
NO_CREDENTIALS: Final = (
    "no GCP credentials are known; set GOOGLE_APPLICATION_CREDENTIALS, run gcloud auth application-default login, "
    "or give the pod a service account with workload identity"
)
NO_PROJECT: Final = "no GCP project is known; name it, or set GOOGLE_CLOUD_PROJECT"
_SCOPE: Final = "https://www.googleapis.com/auth/compute"


@dataclass(frozen=True, slots=True)
class Access:
    """How Compute Engine is reached; what is left out is found as every Google tool finds it. `apart` has the SDK in a
    process of its own (`clouds.apart`)."""

    project: str = ""
    endpoint: str = ""
    seconds: float = SECONDS
    threads: int = THREADS
    apart: bool = False


def _is_there(module: str) -> bool:
    """Whether a module could be imported, without doing so."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is what it lies in
        return False


def identity(access: Access) -> tuple[Any, str]:
    """Credentials and project; raises Misconfigured with what is missing."""
    try:
        import google.auth
        from google.auth.credentials import AnonymousCredentials
        from google.auth.exceptions import DefaultCredentialsError
    except ImportError as missing:
        raise Misconfigured(NO_SDK) from missing
    if not _is_there("google.cloud.compute_v1"):
        raise Misconfigured(NO_SDK)
    credentials: Any = AnonymousCredentials()
    project: str | None = ""
    if not access.endpoint:
        try:
            credentials, project = google.auth.default(scopes=[_SCOPE])
        except DefaultCredentialsError as nobody:
            raise Misconfigured(NO_CREDENTIALS) from nobody
    named = access.project or project or ""
    if not named:
        raise Misconfigured(NO_PROJECT)
    return credentials, named
