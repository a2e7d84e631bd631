"""Structured heads on tiny random encoders: batches, padding, gradients, saving, types, and what is refused."""

import re

import pytest
import torch

pytest.importorskip("transformers", reason="heads on encoders of Hugging Face need transformers")
import transformers
from safetensors.torch import load_file, save_file
from tests import tiny_pretrained
from tests.hf import tiny_heads
from tests.hf.tiny_heads import HEADS, TAGS

from strukt.distributions import LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.hf import StructuredHead, StructuredHeadConfig
from strukt.hf.words import first_pieces

every_head = pytest.mark.parametrize("head", HEADS)


@pytest.fixture(params=HEADS)
def head(request):
    return request.param


def read(model, batch):
    with torch.no_grad():
        return model(**batch)


def predicted(predictions):
    """Predictions without padding, sentence by sentence."""
    flat = predictions if predictions.dim() == 3 else predictions.unsqueeze(-1)
    return [row[row[:, 0] >= 0].tolist() for row in flat]


def test_a_batch_gives_what_its_sentences_give_one_by_one(head):
    model = tiny_heads.model(head)
    together = read(model, tiny_heads.batch(head))
    alone, losses, counts = [], [], []
    for words, labels in zip(tiny_heads.SENTENCES, tiny_heads.LABELS[head], strict=True):
        output = read(model, tiny_heads.batch(head, sentences=[words], labels=[labels]))
        alone += predicted(output.predictions)
        losses.append(output.loss)
        counts.append(len(words))
    assert predicted(together.predictions) == alone
    if head != "bits":  # whose codes are compared within a batch
        mean = sum(loss * n for loss, n in zip(losses, counts, strict=True)) / sum(counts)
        torch.testing.assert_close(together.loss, mean)


@pytest.mark.thinned("kind", "head")
@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "albert", "electra"])
@every_head
def test_the_side_of_the_padding_does_not_matter(head, kind):
    encoder = {"model_type": kind, **tiny_pretrained.KINDS[kind]}
    model = tiny_heads.model(head, encoder=encoder)
    right, left = (read(model, tiny_heads.batch(head, side)) for side in ("right", "left"))
    torch.testing.assert_close(left.loss, right.loss)
    assert predicted(left.predictions) == predicted(right.predictions)
    assert left.predictions.shape == right.predictions.shape
    if head != "span":
        starts = [first_pieces(tiny_heads.batch(head, side)["words"]) for side in ("left", "right")]
        assert not torch.equal(*starts)
        for output, places in zip((left, right), starts, strict=True):
            flat = output.predictions.flatten(2)[..., 0] if head == "biaffine" else output.predictions
            assert torch.equal(flat >= 0, places)


def test_gradients_reach_the_encoder_and_the_whole_head(head):
    model = tiny_heads.model(head).train()
    output = model(**tiny_heads.batch(head))
    assert output.logits is None
    assert output.predictions is None
    output.loss.backward()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and "pooler" not in name and "key.bias" not in name:  # which change nothing
            assert parameter.grad.abs().sum() > 0, name


def test_saved_and_loaded_it_predicts_the_same_bits(head, tmp_path):
    model, batch = tiny_heads.model(head), tiny_heads.batch(head)
    model.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    expected = read(model, batch)
    for auto in (StructuredHead, transformers.AutoModel, transformers.AutoModelForTokenClassification):
        loaded = auto.from_pretrained(tmp_path)
        assert isinstance(loaded, StructuredHead)
        assert not loaded.training
        found = read(loaded, batch)
        assert torch.equal(found.loss, expected.loss)
        assert torch.equal(found.logits, expected.logits)
        assert torch.equal(found.predictions, expected.predictions)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_from_pretrained_takes_a_dtype_and_a_device_map(head, dtype, tmp_path):
    pytest.importorskip("accelerate")
    tiny_heads.model(head).save_pretrained(tmp_path)
    model = StructuredHead.from_pretrained(tmp_path, dtype=dtype, device_map="cpu")
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}
    output = read(model, tiny_heads.batch(head))
    assert output.loss.isfinite()
    assert output.loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_autocast_computes_structures_in_float32(head):
    model, batch = tiny_heads.model(head).train(), tiny_heads.batch(head)
    model.config.dropout = 0
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**batch).loss
    assert loss.dtype == torch.float32
    loss.backward()
    assert all(
        parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None
    )


def test_a_head_for_other_labels_begins_anew(tmp_path):
    tiny_heads.model("crf", constraints="BIO").save_pretrained(tmp_path)
    names = dict(enumerate(["O", "B-Z", "I-Z"]))
    numbers = {name: index for index, name in names.items()}
    model = StructuredHead.from_pretrained(
        tmp_path, id2label=names, label2id=numbers, ignore_mismatched_sizes=True
    )
    assert model.head.crf.transition.tolist() == torch.zeros(3, 3).tolist()
    assert model.head.crf.start_allowed.tolist() == [True, True, False]
    assert model.head.score.weight.isfinite().all()
    assert 0 < model.head.score.weight.abs().max() <= 0.25  # 1 / sqrt(16), as nn.Linear begins


@pytest.mark.parametrize("head", ["crf", "bits"])
def test_constraints_follow_the_labels_and_options_of_the_call(head, tmp_path):
    tiny_heads.model(head, constraints="BIO").save_pretrained(tmp_path)
    names = dict(enumerate(["O", "I-Z", "B-Z", "B-Y", "I-Y"]))
    numbers = {name: index for index, name in names.items()}
    model, _ = StructuredHead.from_pretrained(
        tmp_path, id2label=names, label2id=numbers, output_loading_info=True
    )
    assert model.head.crf.start_allowed.tolist() == [True, False, True, True, False]
    assert model.head.crf.transition_allowed[:, 1].tolist() == [False, True, True, False, False]
    free = transformers.AutoModel.from_pretrained(tmp_path, constraints=None)
    assert all(bool(allowed.all()) for allowed in free.head.crf.constraints)


def test_from_encoder_takes_a_folder_or_a_model(tmp_path):
    tiny_pretrained.save("bert", tmp_path)
    encoder = transformers.AutoModel.from_pretrained(tmp_path)
    for given in (tmp_path, str(tmp_path), encoder):
        model = StructuredHead.from_encoder(given, TAGS, constraints="BIO")
        assert model.config.labels == TAGS
        assert model.config.label2id["I-Y"] == 4
        for mine, theirs in zip(model.encoder.parameters(), encoder.parameters(), strict=True):
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_new_head_has_the_type_of_its_encoder(head, dtype, tmp_path):
    tiny_pretrained.save("bert", tmp_path / "encoder")
    encoder = transformers.AutoModel.from_pretrained(tmp_path / "encoder", dtype=dtype)
    for encoder_or_folder in (tmp_path / "encoder", encoder):
        model = StructuredHead.from_encoder(encoder_or_folder, TAGS, head, dtype, **tiny_heads.SMALL).eval()
        output = read(model, tiny_heads.batch(head))
        assert output.loss.isfinite()
        model.save_pretrained(tmp_path / "model")
        again = StructuredHead.from_pretrained(tmp_path / "model", dtype=dtype)
        assert torch.equal(read(again, tiny_heads.batch(head)).loss, output.loss)


@pytest.mark.parametrize("kind", ["t5", "bart", "xlm"])
def test_encoders_of_all_kinds_read(kind, tmp_path):
    tiny_pretrained.save(kind, tmp_path / "encoder")
    model = StructuredHead.from_encoder(tmp_path / "encoder", TAGS).eval()
    batch = tiny_heads.batch("crf")
    batch.pop("token_type_ids", None)
    expected = read(model, batch)
    assert expected.loss.isfinite()
    assert not any("decoder" in name for name, _ in model.named_parameters())
    model.save_pretrained(tmp_path / "model")
    assert torch.equal(read(StructuredHead.from_pretrained(tmp_path / "model"), batch).loss, expected.loss)


def test_new_pieces_get_vectors_that_are_saved(tmp_path):
    model, more = tiny_heads.model("crf"), tiny_heads.ENCODER["vocab_size"] + 3
    model.resize_token_embeddings(more)
    model.save_pretrained(tmp_path)
    loaded = StructuredHead.from_pretrained(tmp_path)
    assert loaded.get_input_embeddings().weight.shape == (more, 16)
    batch = tiny_heads.batch("crf")
    batch["input_ids"][0, 1] = more - 1
    assert torch.equal(read(loaded, batch).loss, read(model, batch).loss)


def test_logits_have_the_best_sequence_as_their_argmax_and_predictions_keep_the_rules():
    batch = tiny_heads.batch("crf")
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    starts, differs = first_pieces(batch["words"]), 0
    for seed in range(20):
        model = tiny_heads.model("crf", seed, constraints="BIO")
        output = read(model, inputs)
        assert output.loss is None
        assert torch.equal(output.logits.argmax(-1)[starts], output.predictions[starts])
        assert (output.predictions[~starts] == -100).all()
        for row, words in zip(output.predictions, tiny_heads.SENTENCES, strict=True):
            tags = [TAGS[tag] for tag in row[row >= 0].tolist()]
            assert len(tags) == len(words)
            for before, tag in zip(["O", *tags], tags, strict=False):
                assert not tag.startswith("I-") or before[1:] == tag[1:]
        with torch.no_grad():
            chain = model.distribution(**inputs)
        best = output.logits.amax(-1)[starts]
        torch.testing.assert_close(best, chain.log_prob(chain.mode).repeat_interleave(chain.lengths))
        differs += int((chain.scores[0].argmax(-1) != chain.mode)[chain.mode >= 0].sum())
    assert differs > 20  # the tags that would be best alone


def test_the_loss_is_that_of_the_distribution():
    words, batch = [len(words) for words in tiny_heads.SENTENCES], tiny_heads.batch("crf")
    model = tiny_heads.model("crf")
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    with torch.no_grad():
        chain = model.distribution(**inputs)
    tags = torch.nn.utils.rnn.pad_sequence([torch.tensor(row["tags"]) for row in tiny_heads.LABELS["crf"]], True)
    torch.testing.assert_close(read(model, batch).loss, -chain.log_prob(tags).sum() / sum(words))


@pytest.mark.parametrize(
    ("head", "options", "kind"),
    [
        ("crf", {}, LinearChain),
        ("bits", {}, LinearChain),
        ("biaffine", {}, NonProjectiveTree),
        ("biaffine", {"trees": "projective"}, ProjectiveTree),
        ("span", {}, SpanTree),
    ],
)
def test_the_distribution_is_one_of_words(head, options, kind):
    batch = tiny_heads.batch(head)
    batch.pop("labels")
    with torch.no_grad():
        found = tiny_heads.model(head, **options).distribution(**batch)
    assert type(found) is kind
    assert found.lengths.tolist() == [4, 1, 2, 7]
    assert found.entropy().isfinite().all()


def test_words_begin_where_labels_are_if_nothing_else_says_so(head):
    """So that DataCollatorForTokenClassification will do."""
    model, batch = tiny_heads.model(head), tiny_heads.batch(head)
    expected = read(model, batch)
    batch.pop("words")
    if head == "span":
        with pytest.raises(ValueError, match=r"^words is None; expected the word index"):
            read(model, batch)
        return
    found = read(model, batch)
    assert torch.equal(found.loss, expected.loss)
    assert torch.equal(found.predictions, expected.predictions)


@pytest.mark.parametrize("head", ["crf", "biaffine"])
def test_words_without_a_label_are_summed_over(head):
    model, batch = tiny_heads.model(head), tiny_heads.batch(head, sentences=[["a", "b"]], labels=[
        {"crf": {"tags": [1, 2]}, "biaffine": {"heads": [2, 0], "relations": [0, 0]}}[head]
    ])
    batch["labels"][0, 2] = -100  # the second word
    loss = read(model, batch).loss
    batch.pop("labels")
    with torch.no_grad():
        distribution = model.distribution(**batch)
    event = torch.tensor([[1, 0]] if head == "crf" else [[2, 0]])
    part = distribution.marginals[0, 0, event[0, 0]].log()
    if head == "crf":
        torch.testing.assert_close(loss, -part)
    else:
        assert loss > -part  # and the label of the arc


def test_the_span_head_finds_what_it_is_trained_on():
    """Gold spans are of probability near 1 after some steps, and predicted in the form of the labels."""
    torch.manual_seed(0)
    model = StructuredHead(tiny_heads.config("span", dropout=0.0)).train()
    batch = tiny_heads.batch("span")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(80):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = read(model.eval(), batch).predictions
    assert predicted(found) == predicted(batch["labels"])


def test_the_codes_of_words_are_numbers_of_some_bits():
    output = read(tiny_heads.model("bits"), batch := tiny_heads.batch("bits"))
    starts = first_pieces(batch["words"])
    assert output.codes.shape == starts.shape
    assert (output.codes[starts] >= 0).all()
    assert (output.codes < 2**5).all()
    assert (output.codes[~starts] == -100).all()


def test_padding_may_hold_anything(head):
    model, batch = tiny_heads.model(head), tiny_heads.batch(head)
    expected = read(model, batch)
    padding = batch["attention_mask"] == 0
    batch["input_ids"][padding] = 9
    batch["words"][padding] = 3
    found = read(model, batch)
    assert torch.equal(found.loss, expected.loss)
    assert torch.equal(found.predictions, expected.predictions)


def test_sentences_without_words(head):
    batch = tiny_heads.batch(head, sentences=[[], []], labels=[{}, {}])
    output = read(tiny_heads.model(head), batch)
    assert predicted(output.predictions) == [[], []]


def test_a_tuple_where_no_dictionary_is_asked_for(head):
    model, batch = tiny_heads.model(head), tiny_heads.batch(head)
    loss, logits, predictions, *codes = read(model, {**batch, "return_dict": False})
    output = read(model, batch)
    assert torch.equal(loss, output.loss)
    assert torch.equal(logits, output.logits)
    assert torch.equal(predictions, output.predictions)
    assert len(codes) == (head == "bits")


def test_gradient_checkpointing_gives_the_same_gradients():
    model = tiny_heads.model("crf")
    batch, gradients = tiny_heads.batch("crf"), []
    for enabled in (False, True):
        if enabled:
            model.activation_checkpointing_enable({"use_reentrant": False})
        torch.manual_seed(0)
        model.train().zero_grad()
        model(**batch).loss.backward()
        gradients.append(model.get_input_embeddings().weight.grad.clone())
    torch.testing.assert_close(*gradients)


def test_wrong_shapes_are_named(head):
    model, batch = tiny_heads.model(head), tiny_heads.batch(head)
    for name in ("words", "labels"):
        wrong = {**batch, name: batch[name][:1]}
        with pytest.raises(ValueError, match=rf"^{name} has shape \(1, .*; expected \(batch, "):
            read(model, wrong)


def test_a_span_outside_its_sentence_is_named():
    batch = tiny_heads.batch("span")
    batch["labels"][1, 0] = torch.tensor([0, 2, 0])
    message = "labels has the span from 0 to 2 in batch item 1 of 1 words; expected 0 <= start < end <= words"
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tiny_heads.model("span"), batch)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 4, 5)], "the span from 0 to 4 in batch item 0 with the label 5; expected 0 to 4"),
        ([(0, 4, 0), (0, 2, -1)], "the span from 0 to 2 in batch item 0 with the label -1; expected 0 to 4"),
        ([(0, 4, 0), (0, 2, -100)], "the span from 0 to 2 in batch item 0 with the label -100; expected 0 to 4"),
        (
            [(0, 4, 0), (1, 3, 0), (2, 4, 0)],
            "the span from 1 to 3 in batch item 0, which crosses or repeats another; expected spans that nest",
        ),
        (
            [(0, 4, 0), (0, 2, 1), (0, 4, 2)],
            "the span from 0 to 4 in batch item 0, which crosses or repeats another; expected spans that nest",
        ),
    ],
)
def test_spans_that_no_tree_has_are_named(spans, message):
    batch = tiny_heads.batch("span")
    batch["labels"][0] = -100
    batch["labels"][0, : len(spans)] = torch.tensor(spans)
    with pytest.raises(ValueError, match=f"^labels has {re.escape(message)}"):
        read(tiny_heads.model("span"), batch)


def test_a_label_of_an_arc_out_of_range_is_named():
    model, batch = tiny_heads.model("biaffine"), tiny_heads.batch("biaffine")
    batch["labels"][3, batch["words"][3] == 2, 1] = 5
    message = "labels has the label 5 for the arc to word 3 in batch item 3; expected 0 to 4"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read(model, batch)


def test_only_words_below_the_root_are_labelled_root():
    names = dict(enumerate(["nsubj", "obj", "root", "det", "case"]))
    batch = tiny_heads.batch("biaffine")
    for seed in range(5):
        predictions = read(tiny_heads.model("biaffine", seed, id2label=names), batch).predictions
        heads, relations = predictions[predictions[..., 0] >= 0].unbind(-1)
        assert torch.equal(heads == 0, relations == 2)


def test_arcs_whose_label_is_unknown_train_heads_only():
    model, batch = tiny_heads.model("biaffine"), tiny_heads.batch("biaffine")
    losses = []
    for unknown in (-100, -1):
        batch["labels"][..., 1] = unknown
        losses.append(read(model, batch).loss)
    assert torch.equal(*losses)
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    with torch.no_grad():
        trees = model.distribution(**inputs)
    heads = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(row["heads"]) for row in tiny_heads.LABELS["biaffine"]], True
    )
    torch.testing.assert_close(losses[0], -trees.log_prob(heads).sum() / trees.lengths.sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": "tree"}, "head is 'tree'; expected one of crf, biaffine, span, bits"),
        ({"trees": "all"}, "trees is 'all'; expected one of nonprojective, projective"),
        ({"variant": "some"}, "variant is 'some'; expected one of hash, self, sup, max"),
        ({"dropout": 1.0}, "dropout is 1.0; expected a probability in [0, 1)"),
        ({"bits": 0}, "bits is 0; expected at least 1"),
        ({"bits": 63}, "bits is 63; expected at most 62"),
        ({"code_weight": -1.0}, "code_weight is -1.0; expected a finite number of 0 or more"),
        ({"code_weight": float("nan")}, "code_weight is nan; expected a finite number of 0 or more"),
        ({"head": "span", "constraints": "BIO"}, "constraints is 'BIO'; expected None with the head 'span'"),
        ({"encoder": {"hidden_size": 8}}, "encoder has no model_type; expected the configuration of an AutoModel"),
    ],
)
def test_impossible_configurations_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        StructuredHeadConfig(**options)


@pytest.mark.parametrize(
    ("encoder", "labels", "options", "message"),
    [
        ("no-such-model", [], {}, "expected at least one name, and none of them twice"),
        ("no-such-model", ["O", "O"], {}, "expected at least one name, and none of them twice"),
        ("no-such-model", "O", {}, "labels is 'O'; expected a list of names"),
        ("no-such-model", {"O": 1, "X": 0}, {}, "labels is {'O': 1, 'X': 0}; expected a list of names"),
        ("no-such-model", [0, 1], {}, "labels is [0, 1]; expected names, which are strings"),
        (torch.nn.Linear(2, 2), TAGS, {}, "encoder is of type Linear; expected a PreTrainedModel"),
        ("no-such-model", TAGS, {"constraint": "BIO"}, "constraint is not an option of a StructuredHead; "
         "did you mean constraints?"),
        ("no-such-model", TAGS, {"learning_rate": 1}, "learning_rate is not an option of a StructuredHead; "
         "expected one of encoder, head, constraints"),
    ],
)
def test_arguments_of_from_encoder_that_do_not_fit_are_refused(encoder, labels, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        StructuredHead.from_encoder(encoder, labels, **options)


def test_an_encoder_with_a_head_is_refused(tmp_path):
    tiny_pretrained.save("bert", tmp_path)
    masked = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="encoder is a BertForMaskedLM, which has a head; expected only the enc"):
        StructuredHead.from_encoder(masked, TAGS)
    assert StructuredHead.from_encoder(masked.base_model, TAGS).encoder is masked.base_model


def test_options_of_transformers_are_known(tmp_path):
    tiny_pretrained.save("bert", tmp_path)
    assert StructuredHead.from_encoder(tmp_path, TAGS, return_dict=False).config.return_dict is False


def test_an_encoder_without_a_head_is_named(tmp_path):
    tiny_pretrained.save("bert", tmp_path)
    with pytest.raises(ValueError, match=r"the type 'bert'; .* use StructuredHead.from_encoder\("):
        StructuredHead.from_pretrained(tmp_path)


def test_constraints_need_tags_of_the_scheme():
    with pytest.raises(ValueError, match="tags:"):
        StructuredHead(tiny_heads.config("crf", id2label={0: "O", 1: "X"}, constraints="BIO"))


def test_weights_that_a_folder_lacks_begin_anew_and_are_named(head, tmp_path):
    tiny_heads.model(head).save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    lost = [name for name in weights if name.startswith("head.")][-2:]
    kept = {name: weights[name] for name in weights if name not in lost}
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    model, report = StructuredHead.from_pretrained(tmp_path, output_loading_info=True)
    assert set(report["missing_keys"]) == set(lost)
    assert {tensor.device.type for tensor in model.state_dict().values()} == {"cpu"}
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in kept.items())
    assert read(model, tiny_heads.batch(head)).loss.isfinite()


def test_another_head_begins_anew_on_the_encoder_of_a_folder(tmp_path):
    tiny_heads.model("crf").save_pretrained(tmp_path)
    model, report = StructuredHead.from_pretrained(tmp_path, head="biaffine", output_loading_info=True)
    assert "head.scorer.root" in report["missing_keys"]
    assert read(model, tiny_heads.batch("biaffine")).loss.isfinite()
    saved = load_file(tmp_path / "model.safetensors")["encoder.embeddings.word_embeddings.weight"]
    assert torch.equal(model.get_input_embeddings().weight, saved)
