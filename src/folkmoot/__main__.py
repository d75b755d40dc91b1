"""``python -m folkmoot``: the same as the ``folkmoot`` command."""

from folkmoot.cli.main import main

main()
