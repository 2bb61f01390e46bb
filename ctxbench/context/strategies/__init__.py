"""How a context is made smaller, one strategy a file."""
