"""``python -m folkmoot_chain`` is ``folkmoot-chain``."""

from folkmoot_chain.cli.main import main

main()
