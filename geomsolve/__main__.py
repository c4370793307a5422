"""``geomsolve``, and ``python -m geomsolve``: Ctrl-C is answered by one line from the first import on."""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from geomsolve.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
