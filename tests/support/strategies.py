"""Strategies of hypothesis that several test files draw from."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

labels = st.integers(0, 2)


@st.composite
def votes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n_members, n_samples = draw(st.integers(2, 5)), draw(st.integers(1, 12))
    predictions = draw(hnp.arrays(np.int64, (n_members, n_samples), elements=labels))
    return predictions, draw(hnp.arrays(np.int64, n_samples, elements=labels))
