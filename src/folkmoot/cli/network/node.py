"""The commands of ``folkmoot node``, which several files define, in the order of its help."""

from __future__ import annotations

from folkmoot.cli.network import node_page, node_status, run_node
from folkmoot.cli.network.init_node import app

app.command()(run_node.run)
app.command()(run_node.check)
app.command()(node_status.status)
app.command()(node_page.page)
