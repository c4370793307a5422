"""One file a command: its first docstring line is its line in ``geomsolve --help``, and ``command`` is the command."""
