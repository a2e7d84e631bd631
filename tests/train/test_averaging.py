"""The moving average of the weights."""

import torch

from strukt.train.averaging import Average


def test_the_average_is_that_of_the_formula():
    model = torch.nn.Linear(2, 2)
    average = Average(model, decay=0.9)
    expected = model.weight.detach().clone()
    for step in range(200):
        torch.nn.init.normal_(model.weight)
        average.update(model, step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model.weight.detach()
    torch.testing.assert_close(average.weights["weight"], expected)


def test_without_decay_it_is_the_model_itself():
    model = torch.nn.Linear(2, 2)
    average = Average(model, decay=0.0)
    torch.nn.init.normal_(model.weight)
    average.update(model, 5)
    assert torch.equal(average.weights["weight"], model.weight)


def test_it_is_applied_within_the_context_only_even_after_an_error():
    model = torch.nn.Linear(2, 2)
    average = Average(model, decay=0.9)
    averaged = average.weights["weight"].clone()
    torch.nn.init.normal_(model.weight)
    own = model.weight.detach().clone()
    try:
        with average.applied(model):
            assert torch.equal(model.weight, averaged)
            raise KeyError
    except KeyError:
        pass
    assert torch.equal(model.weight, own)
    assert torch.equal(average.weights["weight"], averaged)


def test_frozen_weights_are_not_averaged():
    model = torch.nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    assert set(Average(model, decay=0.9).weights) == {"weight"}


def test_saved_averages_are_taken_over():
    model = torch.nn.Linear(2, 2)
    average = Average(model, decay=0.9)
    average.restore({"weight": torch.ones(2, 2), "bias": torch.zeros(2)})
    with average.applied(model):
        assert torch.equal(model(torch.ones(2)), torch.tensor([2.0, 2.0]))
