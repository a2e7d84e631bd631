"""Labels of dependencies in the Probabilistic Transformer, at the edges; the equations are tested in fidelity."""

import pytest
import torch

from strukt.nn import ProbabilisticTransformer

OPTIONS = [
    {},
    {"decomposition": "weighted"},
    {"decomposition": "biased"},
    {"causal": True},
    {"symmetric": True, "distance": None},
    {"root_labels": 2, "features": 2, "feature_choice": "all-dep"},
]


def made(**options):
    torch.manual_seed(0)
    return ProbabilisticTransformer(4, 2, 2, 3, dependency_labels=3, **options).double()


@pytest.mark.parametrize("options", OPTIONS)
def test_a_batch_gives_what_its_items_give(options):
    model = made(**options)
    scores = torch.randn(2, 5, 4, dtype=torch.float64)
    scores[1, 3:] = torch.nan
    together, alone = model(scores, torch.tensor([5, 3])), model(scores[1:, :3])
    assert together.dependency_labels.shape == (2, 2, 5, 3)
    torch.testing.assert_close(together.dependency_labels[1:, :, :3], alone.dependency_labels)
    torch.testing.assert_close(together.scores[1:, :3], alone.scores)
    assert not together.dependency_labels[1, :, 3:].any()
    torch.testing.assert_close(alone.dependency_labels.sum(-1), torch.ones(1, 2, 3, dtype=torch.float64))


@pytest.mark.parametrize("options", OPTIONS)
def test_nothing_at_all(options):
    for shape in ((0, 3), (2, 0), (0, 0)):
        out = made(**options)(torch.zeros(*shape, 4, dtype=torch.float64))
        assert out.dependency_labels.shape == (shape[0], 2, shape[1], 3)


def test_labels_differ_and_are_learned():
    model = made()
    scores = torch.randn(1, 4, 4, dtype=torch.float64)
    out = model(scores)
    assert out.dependency_labels.std(-1).min() > 1e-3
    out.dependency_labels.square().sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_one_label_changes_nothing():
    torch.manual_seed(0)
    without = ProbabilisticTransformer(4, 2, 2, 3).double()
    one = ProbabilisticTransformer(4, 2, 2, 3, dependency_labels=1).double()
    one.load_state_dict(without.state_dict())
    scores = torch.randn(2, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(one(scores).scores, without(scores).scores)


def test_labelled_models_are_no_attention():
    with pytest.raises(ValueError, match="no dependency_labels is attention"):
        made(symmetric=True, distance=None).tied_attention()


def test_the_number_of_labels():
    with pytest.raises(ValueError, match="dependency_labels is -1; expected at least 0"):
        ProbabilisticTransformer(4, dependency_labels=-1)
