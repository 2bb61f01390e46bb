"""Who writes the text that replaces old messages."""
