"""Chat models behind one interface."""
