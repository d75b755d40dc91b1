# The public names of folkmoot_chain, read by type checkers and at run time.

from .contract import Contract as Contract
from .history import History as History
from .http_rpc import HttpRpc as HttpRpc
from .in_process import InProcess as InProcess
from .keys import new_keystore as new_keystore
from .keys import read_keystore as read_keystore
from .rpc import RevertedError as RevertedError
from .rpc import RpcError as RpcError
from .sending import Sender as Sender

__all__: list[str]
__version__: str
