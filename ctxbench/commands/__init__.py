"""Named commands, one a file: `python -m ctxbench NAME`."""
