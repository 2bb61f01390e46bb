"""Cheap token counts, one idea a file."""
