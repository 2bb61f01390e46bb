"""Where sessions are kept, one storage a file."""
