"""Estimators (cheap) and tokenizers (exact)."""
