"""Trust learnt by listening, against every kind of liar (docs/trust.md)."""
