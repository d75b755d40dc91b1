# The public names of folkmoot.network, read by type checkers and at run time, as those of folkmoot itself.

from .service.asking import Asker as Asker
from .service.asking import Batch as Batch
from .service.asking import Terms as Terms
from .service.asking import ask as ask
from .storage.account import Account as Account
from .wire.motion import Column as Column

__all__: list[str]
