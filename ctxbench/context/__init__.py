"""The system under test: a context manager, its storages, strategies and summarizers."""
