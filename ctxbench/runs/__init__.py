"""Run folders: rows, provenance, loading."""
