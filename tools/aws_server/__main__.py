"""`python -m tools.aws_server [port]`: the server on its own, with a furnished account, until interrupted."""

from __future__ import annotations

import sys
import threading

from tools.aws_server import AwsServer


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with AwsServer(port) as server:
        server.furnished()
        print(f"export AWS_ENDPOINT_URL={server.url} AWS_REGION=us-east-1", flush=True)
        print("export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
