"""Vectors of forms are computed once and kept."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from strukt.errors import DataError
from strukt.train import onnx_graph
from strukt.train.onnx_graph import FormGraph

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def form_vectors(words, affixes, characters):
    """Add up the numbers of a form."""


def graph(path):
    """Write a graph that returns for each form its word, and the sum of all of its numbers."""
    helper, integers, floats = onnx.helper, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    inputs = [
        helper.make_tensor_value_info("words", integers, ["forms"]),
        helper.make_tensor_value_info("affixes", integers, ["forms", 2]),
        helper.make_tensor_value_info("characters", integers, ["forms", "longest"]),
    ]
    nodes = [
        helper.make_node("Unsqueeze", ["words", "axis"], ["column"]),
        helper.make_node("Concat", ["column", "affixes", "characters"], ["all"], axis=1),
        helper.make_node("ReduceSum", ["all", "axis"], ["sum"]),
        helper.make_node("Concat", ["column", "sum"], ["both"], axis=1),
        helper.make_node("Cast", ["both"], ["vectors"], to=floats),
    ]
    output = helper.make_tensor_value_info("vectors", floats, ["forms", 2])
    axis = helper.make_tensor("axis", integers, [1], [1])
    made = helper.make_graph(nodes, "forms", inputs, [output], [axis])
    opset = helper.make_opsetid("", 18)
    onnx.save(helper.make_model(made, opset_imports=[opset], ir_version=10), path / "forms.onnx")
    return FormGraph(path / "forms.onnx", inspect.signature(form_vectors))


def forms(words, longest):
    """Forms of which each number says which word it is."""
    words = torch.tensor(words, dtype=torch.long)
    affixes = words.unsqueeze(1) * torch.tensor([10, 0])
    characters = torch.zeros(words.shape[0], longest, dtype=torch.long)
    characters[:, :2] = 100 * words.unsqueeze(1)
    return words, affixes, characters


def vectors(words):
    return torch.tensor([[word, 211 * word] for word in words], dtype=torch.float).reshape(-1, 2)


class Recorded:
    """A session that records how many forms it is asked for."""

    def __init__(self, session):
        self.session, self.counts = session, []

    def run(self, names, inputs):
        self.counts.append(len(inputs["words"]))
        return self.session.run(names, inputs)


@pytest.fixture
def recorded(tmp_path):
    made = graph(tmp_path)
    made._session = Recorded(made._session)
    return made


def test_a_form_is_computed_when_it_first_comes(recorded):
    for words, longest in (([3, 4], 5), ([4, 5, 3], 7), ([5], 2), ([], 0), ([3, 3, 4], 6)):
        assert torch.equal(recorded(*forms(words, max(longest, 2))), vectors(words))
    assert recorded._session.counts == [2, 1]


def test_a_program_that_computes_in_float64_gets_float32_from_the_graph(tmp_path, float64_by_default):
    result = graph(tmp_path)(*forms([3, 4], 5))
    assert result.dtype == torch.float32
    assert torch.equal(result, vectors([3, 4]))


def test_forms_that_differ_in_one_number_are_kept_apart(recorded):
    words, affixes, characters = forms([1, 1, 1, 1], 3)
    affixes[1, 1] = characters[2, 2] = 256
    characters[3] = torch.tensor([0, 100, 100])
    expected = [[1, 211], [1, 467], [1, 467], [1, 211]]
    assert recorded(words, affixes, characters).tolist() == expected
    assert recorded._session.counts == [4]
    assert recorded(words.flip(0), affixes.flip(0), characters.flip(0)).tolist() == expected[::-1]
    assert recorded._session.counts == [4]


def test_too_many_forms_are_forgotten(recorded, monkeypatch):
    monkeypatch.setattr(onnx_graph, "KEPT_FORMS", 4)
    for words in ([1, 2, 3], [2, 3, 4], [3, 4, 5], [1, 2], list(range(9))):
        assert torch.equal(recorded(*forms(words, 4)), vectors(words))
    assert recorded._session.counts == [3, 1, 3, 2, 9]


def test_threads_may_ask_at_once(recorded):
    def ask(seed):
        words = torch.randint(200, (50,), generator=torch.Generator().manual_seed(seed)).tolist()
        return torch.equal(recorded(*forms(words, 4)), vectors(words))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))


def test_a_missing_graph_is_told(tmp_path):
    with pytest.raises(DataError, match=r"forms\.onnx.*is missing; export the model again"):
        FormGraph(tmp_path / "forms.onnx", inspect.signature(form_vectors))


def test_idle_threads_do_not_spin(tmp_path):
    """Those of one graph would keep processors from the next."""
    options = graph(tmp_path)._session.get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
