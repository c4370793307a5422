"""``python -m geomsolve`` is ``geomsolve``."""

from geomsolve.cli.main import main

if __name__ == "__main__":
    main()
