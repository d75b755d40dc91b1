"""What is public, by topic, and the classes that public names give back.

``tests/test_docs_site.py`` compares these lists with what the code exports, both ways.
"""

from __future__ import annotations

# A sentence for each topic, and its names below ``folkmoot``.
TOPICS = {
    "Estimators": (
        "Fit, predict and report; the interface is scikit-learn's.",
        "ConsensusClassifier ConsensusRegressor ConsensusClusterer FunctionModel for_table read_moot",
    ),
    "Language models, services and files": (
        "Models that answer over a network or stand in a file; members that answer with texts.",
        "ConsensusText models.OpenAIModel models.HTTPModel models.FileModel",
    ),
    "Votes in, answer out": (
        "No model is needed: a table of votes is enough.",
        "aggregate deliberate compare cluster read_votes read_partitions",
    ),
    "Public aggregations": (
        "The same pure function of the table for everybody.",
        "aggregation.Plurality aggregation.Weighted aggregation.DawidSkene aggregation.Pool "
        "aggregation.TrimmedMean aggregation.Median aggregation.Mean aggregation.GeometricMedian "
        "aggregation.Krum",
    ),
    "Own aggregations": (
        "Each participant uses what only it knows, and casts a final vote.",
        "aggregation.Auto HoldoutTrust PeerReview Listen aggregation.Known aggregation.Rows "
        "aggregation.gold_known",
    ),
    "Protocols": (
        "How votes travel: one table for all, or queries of k peers as in the paper.",
        "Council Slush Snowflake Snowball StrongConfidence Others Everyone Neighbours",
    ),
    "Adversaries": (
        "Participants that lie, as ``adversaries={participant: behaviour}``; ``--attack`` names more.",
        "adversaries.PerfectlyMalicious adversaries.ConstantClass adversaries.Silent "
        "adversaries.ConstantNumber adversaries.FarAway adversaries.colluding_votes",
    ),
    "Why, who and pictures": (
        "Look instead of reading figures.",
        "explain play plot_convergence",
    ),
    "Plan and simulate": (
        "Which settings to take, and many runs at once.",
        "plan sweep",
    ),
    "Theory": (
        "The paper's formulas as exact functions.",
        "theory.SlushChain theory.LocalSlushChain theory.majority_accuracy theory.accuracy_gap "
        "theory.threshold_accuracy",
    ),
    "Leaders, teams and quorum sets": (
        "What the paper's outlook names, for ``deliberate`` alone.",
        "outlook.Leaders outlook.Hierarchy outlook.FBA outlook.QuorumSet",
    ),
    "Data by participant": (
        "Tables with an owner for each row, votes of known accuracy, ways to split a table.",
        "datasets.read_table datasets.load_digits_moot datasets.load_femnist datasets.load_heart "
        "datasets.homogeneous_votes datasets.split_dirichlet",
    ),
    "A network": ("Ask a running node from Python.", "Client"),
    "Warnings": ("A filter for all that folkmoot warns of.", "MootWarning"),
}

# Classes that nobody makes or imports: they come back from the name on the left, on whose page they are.
GIVEN_BACK = {
    "ConsensusClassifier": "learning.participants.Participant",
    "ConsensusText": "texts.outcome.TextOutcome texts.outcome.Answered texts.outcome.Saying",
    "read_moot": "runs.learned.LearnedMoot",
    "models.OpenAIModel": "models.usage.Usage models.remote.ModelAnswer",
    "aggregate": "aggregation.interface.Answers",
    "compare": "comparing.report.Report comparing.report.Line comparing.metric.Metric "
    "comparing.participants.ParticipantTable comparing.participants.ParticipantRow "
    "comparing.independence.Independence comparing.joining.Joining comparing.joining.JoinedRow",
    "cluster": "clustering.clustering.Clustering",
    "read_votes": "files.vote_files.VoteTable",
    "read_partitions": "files.vote_files.PartitionTable",
    "deliberate": "outcome.Outcome outcome.Change outcome.Turn outcome.Turns",
    "PeerReview": "aggregation.interface.FinalVotes",
    "Council": "simulation.council.CouncilOutcome",
    "explain": "explanation.explanation.Explanation explanation.explanation.Participation "
    "explanation.explanation.ChangeOfMind explanation.explanation.Reply explanation.explanation.Uncounted "
    "explanation.closeness.Closeness",
    "play": "player.page.Player",
    "plan": "planning.plan_table.Plan planning.setting.PlannedSetting planning.plan_table.Broadcast "
    "planning.limits.BreaksAt planning.limits.Target",
    "sweep": "simulation.sweeping.Sweep",
    "theory.accuracy_gap": "theory.gap.Gap",
    "datasets.load_digits_moot": "datasets.moot_data.MootData datasets.summary.Summary",
    "datasets.homogeneous_votes": "datasets.synthetic.SyntheticVotes",
    "datasets.split_dirichlet": "datasets.splits.Split",
    "Client": "node.client.Answer node.client.Event node.client.NodeAwayError node.client.NodeRefusal",
}
