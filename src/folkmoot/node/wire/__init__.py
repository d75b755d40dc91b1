"""What nodes send each other besides the talk about motions, and what inputs are."""
