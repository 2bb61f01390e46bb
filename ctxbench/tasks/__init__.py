"""What a run does, one task a file: `run` makes rows, `report` makes figures of them."""
