"""Why ensembles work: voters, error-ambiguity and bias-variance decompositions, diversity, margins, and a report."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depthforest.ensemble.analysis.ambiguity import ErrorAmbiguity as ErrorAmbiguity
    from depthforest.ensemble.analysis.ambiguity import error_ambiguity as error_ambiguity
    from depthforest.ensemble.analysis.biasvariance import BiasVariance as BiasVariance
    from depthforest.ensemble.analysis.biasvariance import squared_decomposition as squared_decomposition
    from depthforest.ensemble.analysis.biasvariance import zero_one_decomposition as zero_one_decomposition
    from depthforest.ensemble.analysis.marginbound import MarginBound as MarginBound
    from depthforest.ensemble.analysis.marginbound import margin_bound as margin_bound
    from depthforest.ensemble.analysis.marginbound import vote_margin_bound as vote_margin_bound
    from depthforest.ensemble.analysis.margins import BreimanBound as BreimanBound
    from depthforest.ensemble.analysis.margins import breiman_bound as breiman_bound
    from depthforest.ensemble.analysis.margins import margin_distribution as margin_distribution
    from depthforest.ensemble.analysis.margins import probability_margins as probability_margins
    from depthforest.ensemble.analysis.margins import vote_margins as vote_margins
    from depthforest.ensemble.analysis.members import member_predictions as member_predictions
    from depthforest.ensemble.analysis.members import member_probabilities as member_probabilities
    from depthforest.ensemble.analysis.nonpairwise import NonpairwiseDiversity as NonpairwiseDiversity
    from depthforest.ensemble.analysis.nonpairwise import nonpairwise_diversity as nonpairwise_diversity
    from depthforest.ensemble.analysis.pairwise import PairwiseDiversity as PairwiseDiversity
    from depthforest.ensemble.analysis.pairwise import pairwise_diversity as pairwise_diversity
    from depthforest.ensemble.analysis.plots import plot_bias_variance as plot_bias_variance
    from depthforest.ensemble.analysis.plots import plot_kappa_error as plot_kappa_error
    from depthforest.ensemble.analysis.plots import plot_margins as plot_margins
    from depthforest.ensemble.analysis.plots import plot_voters as plot_voters
    from depthforest.ensemble.analysis.reporting import Report as Report
    from depthforest.ensemble.analysis.reporting import report as report
    from depthforest.ensemble.analysis.rounds import bias_variance_by_size as bias_variance_by_size
    from depthforest.ensemble.analysis.rounds import bias_variance_of_groups as bias_variance_of_groups
    from depthforest.ensemble.analysis.rounds import bootstrap as bootstrap
    from depthforest.ensemble.analysis.rounds import round_predictions as round_predictions
    from depthforest.ensemble.analysis.voters import SimulatedVote as SimulatedVote
    from depthforest.ensemble.analysis.voters import draw_voters as draw_voters
    from depthforest.ensemble.analysis.voters import hoeffding_bound as hoeffding_bound
    from depthforest.ensemble.analysis.voters import lowest_correlation as lowest_correlation
    from depthforest.ensemble.analysis.voters import majority_error as majority_error
    from depthforest.ensemble.analysis.voters import simulate_majority as simulate_majority
    from depthforest.ensemble.analysis.voters import wrong_vote_probabilities as wrong_vote_probabilities

# module -> the public names that it defines; imported when first used (PEP 562)
_NAMES = {
    "ambiguity": ("ErrorAmbiguity", "error_ambiguity"),
    "biasvariance": ("BiasVariance", "squared_decomposition", "zero_one_decomposition"),
    "marginbound": ("MarginBound", "margin_bound", "vote_margin_bound"),
    "margins": ("BreimanBound", "breiman_bound", "margin_distribution", "probability_margins", "vote_margins"),
    "members": ("member_predictions", "member_probabilities"),
    "nonpairwise": ("NonpairwiseDiversity", "nonpairwise_diversity"),
    "pairwise": ("PairwiseDiversity", "pairwise_diversity"),
    "plots": ("plot_bias_variance", "plot_kappa_error", "plot_margins", "plot_voters"),
    "reporting": ("Report", "report"),
    "rounds": ("bias_variance_by_size", "bias_variance_of_groups", "bootstrap", "round_predictions"),
    "voters": (
        *("SimulatedVote", "draw_voters", "hoeffding_bound", "lowest_correlation"),
        *("majority_error", "simulate_majority", "wrong_vote_probabilities"),
    ),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"depthforest.ensemble.analysis.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'depthforest.ensemble.analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
