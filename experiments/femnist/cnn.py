"""The convolutional network of section 5.1, and the cell that trains a few (needs the extra ``torch``).

28 x 28 -> 8 filters of 3 x 3, ReLU -> maxima over 2 x 2 -> 1352 numbers -> 100, ReLU -> 2. SGD with a
learning rate of 0.01 and momentum 0.9, batches of 32, 10 epochs.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from experiments.femnist.writer_votes import HELD_OUT, MemberVotes, Packed, confusion_counts, ordered_test
from experiments.femnist.writers import choose, group
from folkmoot.arrays import Ints, Singles
from folkmoot.datasets import load_femnist
from folkmoot.learning.participants import held_out_rows
from folkmoot.machine import to_install

FILTERS: Final = 8
DENSE: Final = 100
_RATE, _MOMENTUM, _BATCH = 0.01, 0.9, 32


def fit_groups(
    data: str | None,
    seed: int,
    groups: int,
    first: int,
    last: int,
    writers: int,
    test_writers: int,
    epochs: int,
) -> MemberVotes:
    """Cell: a network for each of the groups ``first`` to ``last`` - 1, and its votes on all test letters."""
    torch = _torch()
    choice = choose(data, seed, writers, test_writers)
    chosen = group(data, seed, writers, test_writers, groups).members[first:last]
    needed = sorted({name for each in chosen for name in each})
    rows = load_femnist(data, task="case", writers=needed, test_writers=choice.test)
    X_test, truth, letters = ordered_test(rows, choice.test)
    votes, trained_on, held, right, confusion = [], [], [], [], []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # cells run side by side
    try:
        for number, members in enumerate(chosen, first):
            mine = np.flatnonzero(np.isin(rows.groups, members))
            rng = np.random.default_rng([seed, 1000 + number])
            held_out = held_out_rows(rows.y[mine], HELD_OUT, rng)
            kept = np.setdiff1d(np.arange(len(mine)), held_out)
            X, y = rows.X[mine], rows.y[mine]
            model = train(X[kept], y[kept], epochs=epochs, seed=int(rng.integers(2**31)))
            votes.append(predict(model, X_test))
            trained_on.append(len(kept))
            held.append(len(held_out))
            answers = predict(model, X[held_out])
            right.append(int((answers == y[held_out]).sum()))
            confusion.append(confusion_counts(y[held_out], answers))
    finally:
        torch.set_num_threads(threads)
    return MemberVotes(
        seed=seed,
        members=["+".join(each) for each in chosen],
        votes=Packed.of(np.array(votes)),
        truth=Packed.of(truth),
        letters=letters,
        trained_on=trained_on,
        held_out=held,
        right=right,
        confusion=confusion,
    )


def network(generator: Any = None) -> Any:
    """The untrained network; its weights are drawn from ``generator``, biases are 0."""
    nn = _torch().nn
    side = (28 - 2) // 2
    model = nn.Sequential(
        nn.utils.skip_init(nn.Conv2d, 1, FILTERS, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.utils.skip_init(nn.Linear, FILTERS * side * side, DENSE),
        nn.ReLU(),
        nn.utils.skip_init(nn.Linear, DENSE, 2),
    )
    nn.init.kaiming_uniform_(model[0].weight, nonlinearity="relu", generator=generator)
    nn.init.kaiming_uniform_(model[4].weight, nonlinearity="relu", generator=generator)
    nn.init.xavier_uniform_(model[6].weight, generator=generator)
    for layer in (0, 4, 6):
        nn.init.zeros_(model[layer].bias)
    return model


def train(X: Singles, y: Ints, *, epochs: int, seed: int) -> Any:
    """A network trained on these images (row, 784): the same for the same seed."""
    torch = _torch()
    generator = torch.Generator().manual_seed(seed)
    model = network(generator)
    optimiser = torch.optim.SGD(model.parameters(), lr=_RATE, momentum=_MOMENTUM)
    images, labels = _images(X), torch.from_numpy(y)
    for _ in range(epochs):
        for batch in torch.randperm(len(y), generator=generator).split(_BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimiser.step()
    return model


def predict(model: Any, X: Singles) -> Ints:
    """The likelier class of each image."""
    torch = _torch()
    with torch.no_grad():
        answers = [model(batch).argmax(dim=1) for batch in _images(X).split(1024)]
    return np.asarray(torch.cat(answers).numpy(), dtype=np.int64)


def _images(X: Singles) -> Any:
    return _torch().from_numpy(np.ascontiguousarray(X)).reshape(-1, 1, 28, 28)


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"PyTorch is not installed: {to_install('torch')}", name=error.name
        ) from None
    return torch
