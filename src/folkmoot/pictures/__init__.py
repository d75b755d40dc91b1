"""What pictures and notebooks share: axes to draw in, colours, figures, and tables of HTML."""
