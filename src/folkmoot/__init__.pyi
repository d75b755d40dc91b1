# The public names of folkmoot. ``from .home import Name as Name`` is how a stub says that a name is public;
# at run time lazy_loader reads these lines, and imports a home when one of its names is first used.

from . import adversaries as adversaries
from . import aggregation as aggregation
from . import clustering as clustering
from . import comparing as comparing
from . import datasets as datasets
from . import explanation as explanation
from . import learning as learning
from . import models as models
from . import outcome as outcome
from . import outlook as outlook
from . import planning as planning
from . import protocols as protocols
from . import simulation as simulation
from . import texts as texts
from . import theory as theory
from .aggregation import HoldoutTrust as HoldoutTrust
from .aggregation import Listen as Listen
from .aggregation import PeerReview as PeerReview
from .aggregation import aggregate as aggregate
from .checks import ByzantineThresholdWarning as ByzantineThresholdWarning
from .clustering import Clustering as Clustering
from .clustering import ClusteringWarning as ClusteringWarning
from .clustering import cluster as cluster
from .comparing import Report as Report
from .comparing import compare as compare
from .explanation import Explanation as Explanation
from .explanation import explain as explain
from .explanation.convergence import plot_convergence as plot_convergence
from .files.vote_files import PartitionTable as PartitionTable
from .files.vote_files import VoteTable as VoteTable
from .files.vote_files import read_partitions as read_partitions
from .files.vote_files import read_votes as read_votes
from .learning import ConsensusClassifier as ConsensusClassifier
from .learning import ConsensusClusterer as ConsensusClusterer
from .learning import ConsensusRegressor as ConsensusRegressor
from .learning import FunctionModel as FunctionModel
from .node.client import Client as Client
from .outcome import Outcome as Outcome
from .planning import Plan as Plan
from .planning import plan as plan
from .planning import plan_for as plan_for
from .player import Player as Player
from .player.playing import play as play
from .protocols import Slush as Slush
from .protocols import Snowball as Snowball
from .protocols import Snowflake as Snowflake
from .protocols.sampling import Everyone as Everyone
from .protocols.sampling import Neighbours as Neighbours
from .protocols.sampling import Others as Others
from .protocols.thresholds import StrongConfidence as StrongConfidence
from .runs.learned import read_moot as read_moot
from .simulation import Sweep as Sweep
from .simulation import deliberate as deliberate
from .simulation import sweep as sweep
from .simulation.council import Council as Council
from .texts import ConsensusText as ConsensusText
from .texts import TextOutcome as TextOutcome

__all__: list[str]
__version__: str
