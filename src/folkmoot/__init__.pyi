# The public names of folkmoot. ``from .home import Name as Name`` is how a stub says that a name is public;
# at run time lazy_loader reads these lines, and imports a home when one of its names is first used.

from . import adversaries as adversaries
from . import aggregation as aggregation
from . import datasets as datasets
from . import models as models
from . import outlook as outlook
from . import theory as theory
from .aggregation.aggregating import aggregate as aggregate
from .aggregation.holdout_trust import HoldoutTrust as HoldoutTrust
from .aggregation.listen import Listen as Listen
from .aggregation.peer_review import PeerReview as PeerReview
from .checks import MootWarning as MootWarning
from .clustering.agreeing import cluster as cluster
from .comparing.comparing import compare as compare
from .explanation.convergence import plot_convergence as plot_convergence
from .explanation.making import explain as explain
from .files.vote_files import read_partitions as read_partitions
from .files.vote_files import read_votes as read_votes
from .learning.base_learners import for_table as for_table
from .learning.classifier import ConsensusClassifier as ConsensusClassifier
from .learning.clusterer import ConsensusClusterer as ConsensusClusterer
from .learning.function_model import FunctionModel as FunctionModel
from .learning.regressor import ConsensusRegressor as ConsensusRegressor
from .node.client import Client as Client
from .planning.planner import plan as plan
from .player.playing import play as play
from .protocols.sampling import Everyone as Everyone
from .protocols.sampling import Neighbours as Neighbours
from .protocols.sampling import Others as Others
from .protocols.slush import Slush as Slush
from .protocols.snowball import Snowball as Snowball
from .protocols.snowflake import Snowflake as Snowflake
from .protocols.thresholds import StrongConfidence as StrongConfidence
from .runs.learned import read_moot as read_moot
from .simulation.council import Council as Council
from .simulation.engine import deliberate as deliberate
from .simulation.sweeping import sweep as sweep
from .texts.consensus_text import ConsensusText as ConsensusText

__all__: list[str]
__version__: str
