"""Problems of an installation or the folder of a node, and what to type: ``folkmoot doctor``."""
