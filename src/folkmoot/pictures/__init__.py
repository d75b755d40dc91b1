"""Common parts of pictures and notebooks: axes to draw in, colours, figures, and tables of HTML."""
