"""The network of section 5.1, layer by layer against numpy (needs torch)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from joblib import Memory
from scipy.signal import correlate2d

from experiments.femnist import group_networks as femnist_cnn
from experiments.femnist.cnn import fit_groups, network, predict, train

pytestmark = pytest.mark.slow


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "folkmoot\[torch\]"'):
        fit_groups("nowhere", 0, 9, 0, 3, 25, 10, 1)


class TestNetwork:
    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason='pip install "folkmoot[torch]"')

    def test_number_of_parameters(self) -> None:
        sizes = [parameter.numel() for parameter in network().parameters()]
        assert sizes == [8 * 3 * 3, 8, 8 * 13 * 13 * 100, 100, 100 * 2, 2]
        assert sum(sizes) == 8 * (9 + 1) + (1352 + 1) * 100 + (100 + 1) * 2 == 135_582

    def test_first_weights(self, torch: Any) -> None:
        model = network(torch.Generator().manual_seed(0))
        for layer, fan_in in ((0, 9), (4, 1352)):
            limit = np.sqrt(6 / fan_in)  # He's uniform law
            most = float(model[layer].weight.detach().abs().max())
            assert 0.85 * limit < most <= limit
            assert not model[layer].bias.detach().any()

    def test_layers_by_hand(self, torch: Any) -> None:
        model = network(torch.Generator().manual_seed(1))
        weights = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
        image = np.random.default_rng(0).random((28, 28))
        maps = np.stack([correlate2d(image, kernel[0], mode="valid") for kernel in weights[0]])
        maps = np.maximum(maps + weights[1][:, None, None], 0)
        assert maps.shape == (8, 26, 26)
        pooled = maps.reshape(8, 13, 2, 13, 2).max(axis=(2, 4)).ravel()
        dense = np.maximum(weights[2] @ pooled + weights[3], 0)
        by_hand = weights[4] @ dense + weights[5]
        given = torch.from_numpy(image.astype(np.float32)).reshape(1, 1, 28, 28)
        np.testing.assert_allclose(model(given).detach().numpy()[0], by_hand, rtol=1e-4, atol=1e-5)

    def test_learns_what_can_be_learnt_and_is_the_same_for_the_same_seed(self, torch: Any) -> None:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 300)
        X = rng.random((300, 28, 28)).astype(np.float32)
        X[y == 1, :14] += 0.3
        X = X.reshape(300, 784)
        before = torch.get_rng_state()
        one, again, other = (train(X[:200], y[:200], epochs=5, seed=seed) for seed in (4, 4, 5))
        assert torch.equal(before, torch.get_rng_state())  # nobody else's dice are touched
        assert (predict(one, X[200:]) == y[200:]).mean() > 0.95
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), again.parameters(), strict=True))
        assert not torch.equal(one[4].weight, other[4].weight)

    def test_whole_experiment(self, letters: str, tmp_path: Any) -> None:
        config = femnist_cnn.Config(
            data=letters, groups=5, writers=21, test_writers=(1, 6), epochs=3, byzantine=(0, 1, 2)
        )
        found: Any = femnist_cnn.EXPERIMENT.run(config, 0, Memory(tmp_path, verbose=0))
        assert found.ensemble.tests[-1].mean > 0.6
        assert found == femnist_cnn.EXPERIMENT.run(config, 0)
        assert any("groups overlap" in note for note in found.notes)
