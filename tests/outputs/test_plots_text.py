"""Text from files in pictures: it is shown as it is, whatever it holds."""

import matplotlib.figure
import matplotlib.text
import numpy as np
import pytest

from lvc_jax.outputs import plots, plots_actions, plots_scores
from lvc_jax.outputs.plots_style import plain

# As mathematics this cannot be read; and half of a surrogate pair.
ODD = "$x_ [$ \ud800"
# As it is written; a blank for an underscore, as in the legend of actions.
SHOWN = r"$x  [$ \ud800"
TIME = np.arange(1.0, 4.0)
CURVES = {"LS": TIME / 4}
SEGMENTS = [{"segment": [0, 2], "label": ODD}]


def test_plain_text() -> None:
    assert plain("v_\ud800$é水") == "v_\\ud800\\$é\\u6c34"
    assert plain("Δt = 5\n") == "Δt = 5\n"


FIGURES = {
    "bars": lambda: plots_scores.bars(ODD, {ODD: 0.5}),
    "panels": lambda: plots_scores.panels(ODD, {"Queries": {"5": {"paper": 0.5}}}),
    "actions": lambda: plots_actions.instantaneous_accuracy(
        ODD, 0.5, {ODD: {"IA": [1.0], "weighted_IA": [1.0]}}, SEGMENTS, SEGMENTS
    ),
    "over_time": lambda: plots.score_over_time(TIME, CURVES, ODD, others={ODD: (TIME, TIME / 5)}, ylabel=ODD),
    "live_scores": lambda: plots.live_scores_of_video(TIME, {"LS/ROUGE-L": TIME / 4}, ODD),
    "timeline": lambda: plots.timeline(ODD, 9.0, [(0, 9, ODD)], [{"timestamp": [0, 9], "sentence": ODD}]),
}
PLACES = {"bars": 2, "panels": 1, "actions": 4, "over_time": 3, "live_scores": 1, "timeline": 3}


@pytest.mark.parametrize("name", FIGURES)
def test_every_text_of_a_file_is_shown_as_it_is(name: str) -> None:
    figure: matplotlib.figure.Figure = FIGURES[name]()
    assert plots.png(figure).startswith(b"\x89PNG")
    texts = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible()]
    written = [text.get_text().replace(r"\$", "$").replace("_", " ") for text in texts]
    assert sum(SHOWN in text for text in written) == PLACES[name], written
