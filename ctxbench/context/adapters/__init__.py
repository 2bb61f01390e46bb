"""Other libraries' context compression, as strategies. One file a library; none is needed to use the rest."""
