"""Common parts of pictures and notebooks: axes, colours, figures, and tables of HTML."""
