"""What nodes say to each other: messages, packed votes, signed statements, motions and their verdicts."""
