"""Problems of an installation or of a node's folder, with remedies: ``folkmoot doctor``."""
