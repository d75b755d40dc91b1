"""Whom to believe on what, learnt from checked answers: what each shown row buys (docs/peer-review.md)."""
