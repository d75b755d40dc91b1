"""The player: deliberations, turn by turn, in one HTML file that needs no network (docs/watch.md).

Arrays in, HTML out: of ours it imports ``votes`` alone, so that ``Outcome`` may use it.
"""
