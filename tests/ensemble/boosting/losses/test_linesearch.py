import numpy as np

from depthforest.ensemble.boosting.losses.linesearch import weighted_quantile, zero_slopes


def test_guarded_steps_find_zeros_that_newton_alone_misses():
    def slopes(at, _):
        return np.arctan(at - [5.0, -3.0, 0.0]), 1 / (1 + (at - [5.0, -3.0, 0.0]) ** 2)

    bound = np.full(3, 10.0)
    np.testing.assert_allclose(zero_slopes(slopes, -bound, bound), [5, -3, 0], atol=1e-11)
    secant = zero_slopes(lambda at, is_open: (slopes(at, is_open)[0], None), -bound, bound, reach=0.1)
    np.testing.assert_allclose(secant, [5, -3, 0], atol=1e-11)
    wrong = zero_slopes(lambda at, is_open: (slopes(at, is_open)[0], np.full(3, 1e-9)), -bound, bound)
    np.testing.assert_allclose(wrong, [5, -3, 0], atol=1e-11)
    jumps = zero_slopes(lambda at, _: (np.where(at > [5.0, -3.0, 0.5], 0.9, -0.1), None), -bound, bound, reach=1.0)
    np.testing.assert_allclose(jumps, [5, -3, 0.5], atol=1e-11)
    assert zero_slopes(slopes, -bound / 5, bound / 5).tolist() == [2, -2, 0]


def test_weighted_quantiles_are_the_middle_of_all_that_are_right():
    values = np.array([7.0, 1.0, 6.0, 4.0])
    assert weighted_quantile(values, np.ones(4), 0.5) == 5.0
    assert weighted_quantile(values, np.ones(4), 0.6) == 6.0
    assert weighted_quantile(values, np.array([1.0, 0.0, 0.1, 0.2]), 0.1 / 1.3) == 4.0
    assert weighted_quantile(values, np.array([0.1, 0.2, 0.3, 0.0]), 1 / 3) == 3.5  # 0.2 of 0.6, but for rounding
    assert weighted_quantile(values, np.zeros(4), 0.5) == 0.0
