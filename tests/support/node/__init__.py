"""What the tests of a node play with."""
