"""What is wrong with an installation or the folder of a node, and what to type: ``folkmoot doctor``."""
