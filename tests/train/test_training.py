"""One step of training, and what is noted after an epoch."""

from types import SimpleNamespace

import pytest
import torch
from tests import tiny_corpora

from strukt.errors import DataError, StruktError
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger
from strukt.train.checkpoints import Checkpoint, Progress, flatten_optimizer, newest, write
from strukt.train.training import Training

SENTENCES = tiny_corpora.trees(9)


class OneProcess:
    """What the module asks of a trainer outside of a training."""

    world_size = 1
    precision_plugin = SimpleNamespace(load_state_dict=lambda state: None)


def training(kind=Parser, checkpoint=None, **options):
    torch.manual_seed(0)
    config = {Parser: tiny_corpora.dependency_config, Tagger: tiny_corpora.tag_config}[kind]()
    config.encoder.dropout = config.encoder.word_dropout = 0.0
    for name, value in options.items():
        setattr(config.trainer, name, value)
    module = Training(kind.from_corpus(config, SENTENCES), SENTENCES, checkpoint)
    module.trainer = OneProcess()
    module.manual_backward = lambda loss: loss.backward()
    if checkpoint is None:
        module.on_train_start()
    return module


def gradients(module):
    return {name: value.grad for name, value in module.model.named_parameters() if value.grad is not None}


@pytest.mark.parametrize(("kind", "options"), [(Parser, {}), (Tagger, {}), (Tagger, {"average": "sentences"})])
def test_out_of_memory_the_gradient_is_that_of_the_whole_batch(kind, options, monkeypatch):
    module = training(kind)
    for name, value in options.items():
        setattr(module.model.config, name, value)
    whole = module._gradients(SENTENCES)
    expected = {name: value.clone() for name, value in gradients(module).items()}
    backward, sizes = module.manual_backward, []

    def small_memory(loss):
        sizes.append(1)
        backward(loss)
        if len(sizes) in (1, 3):  # the batch does not fit, and then one of its halves does not
            raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(module, "manual_backward", small_memory)
    with pytest.warns(UserWarning, match="out of memory"):
        assert module._gradients(SENTENCES) == pytest.approx(whole, rel=1e-5)
    for name, value in gradients(module).items():
        torch.testing.assert_close(value, expected[name], rtol=1e-4, atol=1e-6)


def test_the_penalty_of_the_scores_of_heads_is_learned_from():
    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.dropout, config.encoder.word_dropout = "pt", 0.0, 0.0
    losses = {}
    for weight in (0.0, 0.5):
        torch.manual_seed(0)
        config.encoder.pt.penalty = weight
        module = Training(Tagger.from_corpus(config, SENTENCES), SENTENCES)
        module.trainer, module.manual_backward = OneProcess(), lambda loss: loss.backward()
        losses[weight] = module._gradients(SENTENCES)
    norm = module.model.encoder.context.mean_field.ternary.tables().norm()
    assert losses[0.5] - losses[0.0] == pytest.approx(0.5 * norm.item(), rel=1e-4)


def finish_epoch(module, score):
    module.batches_in_epoch = module.progress.batch = 4
    module.progress.step += 4
    module.end_epoch({"UAS": 0.0, "LAS": score})


def test_the_best_epoch_keeps_its_averaged_weights():
    module = training()
    with torch.no_grad():
        module.average.weights["root"].fill_(1)
    finish_epoch(module, 50.0)
    assert module.best["root"].unique().tolist() == [1.0]
    assert module.model.root.unique().tolist() == [0.0]
    with torch.no_grad():
        module.average.weights["root"].fill_(2)
    finish_epoch(module, 40.0)
    assert module.best["root"].unique().tolist() == [1.0]
    finish_epoch(module, 60.0)
    assert module.best["root"].unique().tolist() == [2.0]
    assert (module.progress.best_epoch, module.progress.epoch) == (3, 3)
    assert [scores["LAS"] for scores in module.progress.history] == [50.0, 40.0, 60.0]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_no_number_ends_the_training(score):
    module = training()
    with pytest.raises(StruktError, match=rf"LAS is {score} on the development corpus after step 4; lower"):
        finish_epoch(module, score)
    assert not module.best


def test_weights_that_could_not_be_loaded_end_the_training():
    module = training()
    with torch.no_grad():
        module.average.weights["root"].fill_(1e10)
    with pytest.raises(StruktError, match=r"root has weights beyond 1e\+09 after step 4; lower"):
        finish_epoch(module, 50.0)


def test_an_equal_score_is_not_better():
    module = training()
    finish_epoch(module, 50.0)
    finish_epoch(module, 50.0)
    assert module.progress.best_epoch == 1


def test_of_equal_scores_the_lower_loss_is_better_also_after_the_rate_is_halved():
    module = training(Tagger)
    module.model.config.optimizer.schedule, module.model.config.optimizer.halve_after = "halving", 2
    rates = []
    for accuracy, loss in [(50.0, 0.2), (60.0, 0.4), (60.0, 0.3), (60.0, 0.5), (59.0, 0.1), (60.0, 0.2)]:
        module.progress.batch = module.batches_in_epoch
        module.end_epoch({"accuracy": accuracy, "dev_loss": loss})
        rates.append(module.rate())
    assert module.progress.best_epoch == 6
    assert rates == [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]


def test_a_rise_of_less_than_one_step_does_not_waste_the_first_step():
    module = training(Tagger, epochs=1)
    assert module.model.config.optimizer.schedule == "linear"
    module.model.config.optimizer.warmup = 0.25
    for batches, expected in ((1, [1.0]), (2, [1.0, 0.5]), (4, [0.0, 1.0, 2 / 3, 1 / 3])):
        module.batches_in_epoch, rates = batches, []
        for module.progress.batch in range(batches):
            rates.append(module.rate())
        assert rates == pytest.approx(expected)


def test_it_is_finished_after_its_epochs_or_its_patience():
    module = training(epochs=3, patience=2)
    finish_epoch(module, 50.0)
    assert not module.is_finished
    finish_epoch(module, 40.0)
    assert not module.is_finished
    finish_epoch(module, 30.0)
    assert module.is_finished
    impatient = training(epochs=99, patience=1)
    finish_epoch(impatient, 50.0)
    finish_epoch(impatient, 50.0)
    assert impatient.is_finished


def test_an_epoch_that_time_cut_off_is_not_counted():
    module = training()
    module.batches_in_epoch, module.progress.batch = 4, 3
    module.end_epoch({"UAS": 0.0, "LAS": 1.0})
    assert (module.progress.epoch, module.progress.batch) == (0, 3)


def test_it_begins_where_the_checkpoint_says(tmp_path):
    first = training()
    with torch.no_grad():
        first.model.root.fill_(7)
    tensors = {"weights": first.model.state_dict(), "average": {}, "best": {}, "optimizer": {}}
    write(tmp_path, Checkpoint(Progress(epoch=2, batch=1, step=9), tensors))
    second = training(checkpoint=newest(tmp_path))
    assert second.model.root.unique().tolist() == [7.0]
    assert (second.progress.epoch, second.progress.batch, second.progress.step) == (2, 1, 9)


def test_nothing_of_a_checkpoint_is_shared_with_other_processes():
    first = training()
    optimizer = first.configure_optimizers()
    first.model.loss(first.model.collate(SENTENCES)).backward()
    optimizer.step()
    tensors = {
        "weights": first.model.state_dict(),
        "average": first.average.weights,
        "best": {},
        "optimizer": flatten_optimizer(optimizer),
    }
    for tensor in (tensor for group in tensors.values() for tensor in group.values()):
        tensor.detach().share_memory_()  # as all tensors are that go to a process
    second = training(checkpoint=Checkpoint(Progress(step=1), tensors))
    own_optimizer = second.configure_optimizers()
    second._optimizer = lambda: own_optimizer
    second.on_train_start()
    own = second.average.weights | flatten_optimizer(own_optimizer)
    for name, tensor in (tensors["average"] | tensors["optimizer"]).items():
        assert torch.equal(own[name], tensor)
        assert not own[name].is_shared(), name


def test_a_checkpoint_of_another_version_is_refused():
    checkpoint = Checkpoint(Progress(step=1), {"weights": {"other": torch.zeros(1)}, "best": {}})
    with pytest.raises(DataError, match="was written by another version of strukt; start again"):
        training(checkpoint=checkpoint)


def test_frozen_weights_are_not_optimised():
    module = training(Tagger)
    optimised = {
        id(value) for group in module.configure_optimizers().param_groups for value in group["params"]
    }
    assert id(module.model.score.weight) in optimised
    assert id(module.model.crf.transition) not in optimised
