"""Messages, conversations and probes: their form, their files, their rules."""
