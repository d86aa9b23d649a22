"""Run a hub until it is interrupted: `python -m tests.hub --repo owner/model=FOLDER …`."""

import argparse
import signal
import sys
from pathlib import Path

from tests.hub.server import Hub


def main(arguments: list[str]) -> int:
    """Serve the repositories that the arguments name; prints the address once it listens."""
    parser = argparse.ArgumentParser(prog="python -m tests.hub", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8700)
    parser.add_argument("--bytes-per-second", type=int, help="send file bodies this slowly, each connection")
    parser.add_argument("--repo", action="append", default=[], metavar="OWNER/MODEL=FOLDER")
    options = parser.parse_args(arguments)
    with Hub.start(options.host, options.port, options.bytes_per_second) as hub:
        for repo in options.repo:
            name, _, folder = repo.partition("=")
            try:
                print(f"{name} main is {hub.add_repo(name, Path(folder))}", flush=True)
            except ValueError as error:
                parser.error(f"--repo {repo}: {error}")
        print(f"listening on {hub.url}", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main(sys.argv[1:]))
