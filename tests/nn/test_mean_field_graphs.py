"""Probabilistic Transformers under torch.compile, torch.export and torch.func, and in half precision."""

import pytest
import torch
from torch.export import Dim

from strukt.nn import MeanFieldEncoder, ProbabilisticTransformer, Updates

DECOMPOSITIONS = ["full", "uv", "uvw", "weighted", "biased"]

OPTIONS = [
    *({"decomposition": decomposition, "distance": 1} for decomposition in DECOMPOSITIONS),
    {"root_labels": 3, "shared": True},
    {"distance": None, "features": 2, "feature_choice": "all-dep", "causal": True},
    {"dependency_labels": 2, "updates": Updates(order="synchronous", head_damping=0.2, head_step=0.5)},
]

SOME = [
    pytest.param(each, id=str(each), marks=pytest.mark.slow if i != 1 else ())
    for i, each in enumerate(OPTIONS)
]
"""All but one are slow: PyTorch takes up to 15 s for each."""

LENGTHS = torch.tensor([6, 3, 1])

pytestmark = pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning")


def encoder(**options):
    torch.manual_seed(0)
    return MeanFieldEncoder(5, 4, channels=2, iterations=2, rank=3, **options).double()


def words(*shape):
    return torch.randn(*shape, 5, dtype=torch.float64)


def parts_of(encoding):
    return [part for part in encoding if part is not None]


def agree(result, expected):
    for mine, right in zip(result, expected, strict=True):
        torch.testing.assert_close(mine, right)


@pytest.mark.slow
@pytest.mark.parametrize("options", SOME)
def test_compiled_without_a_break(options):
    model, x = encoder(**options), words(3, 6).requires_grad_()

    def results(x, lengths):
        return model(x, lengths), *parts_of(model.encode(x, lengths))

    def with_gradients(function):
        values = function(x, LENGTHS)
        total = sum(value.square().sum() for value in values)
        return *values, *torch.autograd.grad(total, (x, *model.parameters()))

    torch.compiler.reset()
    compiled = torch.compile(results, fullgraph=True, backend="aot_eager")
    agree(with_gradients(compiled), with_gradients(results))


@pytest.mark.parametrize("options", SOME)
def test_exported_for_any_batch_and_length(options):
    model = encoder(**options).eval()
    batch, n = Dim("batch", min=1, max=64), Dim("n", min=1, max=512)
    shapes = ({0: batch, 1: n}, {0: batch})
    exported = torch.export.export(model, (words(3, 6), LENGTHS), dynamic_shapes=shapes).module()
    for n, lengths in ((6, [6, 3, 1]), (11, [11, 0]), (1, [1]), (2, [2, 2, 1, 2])):
        x, lengths = words(len(lengths), n), torch.tensor(lengths)
        torch.testing.assert_close(exported(x, lengths), model(x, lengths))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_mapped_over_sentences(options):
    model, x = encoder(**options), words(3, 6)

    def loss(x, length):
        return model(x[None], length[None]).square().sum()

    def of_heads(x, length):
        return model.encode(x[None], length[None]).heads[0]

    expected = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(model(expected, LENGTHS).square().sum(), expected)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(x, LENGTHS), grad)
    torch.testing.assert_close(torch.func.vmap(of_heads)(x, LENGTHS), model.encode(x, LENGTHS).heads)


@pytest.mark.thinned("options", "dtype")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_weights_in_half_types_are_computed_in_float32(options, dtype):
    """The results are those of the same numbers in float32; an encoder's have the type of its weights."""
    half = encoder(**options).mean_field.to(dtype)
    full = encoder(**options).mean_field
    full.load_state_dict(half.state_dict())
    scores = words(3, 6)[..., :4].to(dtype)
    agree(parts_of(half(scores, LENGTHS)), parts_of(full.float()(scores.float(), LENGTHS)))
    assert half(scores, LENGTHS).labels.dtype == torch.float32
    assert half.norm().dtype == torch.float32
    model, x = encoder(**options).to(dtype), words(3, 6).to(dtype)
    result = model(x, LENGTHS)
    assert result.dtype == dtype
    result.square().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_half_scores_need_no_half_weights():
    model = ProbabilisticTransformer(4, 2, 2, 3)
    scores = torch.randn(1, 3, 4).half()
    torch.testing.assert_close(model(scores).scores, model(scores.float()).scores)
