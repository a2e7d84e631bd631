"""Hugging Face models as encoders, with tiny random models that the tests save to disk."""

import pytest
import torch

from strukt.errors import DataError, SettingError
from strukt.nn.pretrained import LONGEST_WORD, PretrainedEncoder, windows

pytest.importorskip("transformers")
import tokenizers
import transformers
from tests import tiny_pretrained


@pytest.fixture(scope="module", params=["bert", "roberta", "albert", "electra", "gpt2", "xlm", "t5", "bart"])
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    tiny_pretrained.save(request.param, folder)
    return folder


@pytest.fixture
def encoder(saved):
    return PretrainedEncoder.load(saved).eval()


def encode(encoder, sentences):
    lengths = torch.tensor([len(forms) for forms in sentences])
    with torch.no_grad():
        return encoder(encoder.inputs(sentences), lengths)


def test_a_word_is_the_mean_of_its_pieces(encoder):
    found = encode(encoder, [["abc", "d"]])
    pieces = torch.tensor(
        [
            [
                2,
                tiny_pretrained.VOCABULARY.index("a"),
                tiny_pretrained.VOCABULARY.index("##b"),
                tiny_pretrained.VOCABULARY.index("##c"),
                7,
                3,
            ]
        ]
    )
    with torch.no_grad():
        states = encoder.model(input_ids=pieces, attention_mask=torch.ones_like(pieces)).last_hidden_state[0]
    torch.testing.assert_close(found[0], torch.stack([states[1:4].mean(0), states[4]]))


def test_a_batch_gives_what_its_items_give(encoder):
    sentences = [["abc", "d", "ef"], ["j"], ["a"] * 40, [], ["ab", "cd"]]
    together = encode(encoder, sentences)
    assert together.shape == (5, 40, encoder.size)
    for row, forms in enumerate(sentences):
        torch.testing.assert_close(together[row, : len(forms)], encode(encoder, [forms])[0])
        assert together[row, len(forms) :].abs().sum() == 0


def test_words_without_a_piece_count_as_unknown(encoder):
    found = encode(encoder, [["a", "\u200b", "b"], ["a", "?", "b"]])
    torch.testing.assert_close(found[0], found[1])
    assert (found.abs().sum(-1) > 0).all()


def test_sentences_longer_than_the_window_have_a_vector_for_each_word(encoder):
    found = encode(encoder, [list("abcdefghij") * 30])
    assert found.shape == (1, 300, encoder.size)
    assert found.isfinite().all()
    assert (found[0].abs().sum(-1) > 0).all()


def test_far_words_see_only_their_own_window(encoder):
    first, second = (encode(encoder, [[letter] * 30 + ["a"] * 30])[0] for letter in "bc")
    assert not torch.allclose(first[0], second[0])
    torch.testing.assert_close(first[45:], second[45:])


def test_sizes_are_known_before_anything_is_read(encoder):
    """Of sentences with several windows, too, which are 16 pieces wide."""
    sentences = [["abc", "d"], [], ["j"] * 13, ["ab"] * 40, ["a-b" * 9, "c"], ["\u200b"]]
    sizes = encoder.sizes(sentences)
    assert sizes == [encoder.inputs([forms])["pieces"].numel() for forms in sentences]
    assert encoder.sizes([]) == []
    for first in range(len(sentences)):
        for last in range(first + 1, len(sentences) + 1):
            padded = encoder.inputs(sentences[first:last])["pieces"].numel()
            assert padded <= (last - first) * max(sizes[first:last])


def test_of_a_word_of_many_pieces_the_first_and_the_last_are_read(encoder):
    """A word of 500 pieces would take as much as a paragraph."""
    half = LONGEST_WORD // 2
    word, short = "a-" * half + "c" + "b-" * 250, "a-" * (half // 2) + "b-" * (half // 2)
    inputs = encoder.inputs([["e", word, "f"]])
    assert inputs["counts"].tolist() == [[1, LONGEST_WORD, 1]]
    torch.testing.assert_close(encode(encoder, [["e", word, "f"]]), encode(encoder, [["e", short, "f"]]))
    [size] = encoder.sizes([["e", word, "f"]])
    assert size == inputs["pieces"].numel() < 5 * LONGEST_WORD


@pytest.mark.parametrize("sentences", [["Dogs bark"], [["Cats"], "Dogs bark"], "Dogs bark"])
def test_strings_are_not_read_as_lists_of_letters(encoder, sentences):
    for read in (encoder.inputs, encoder.sizes):
        with pytest.raises(ValueError, match=r"the string 'Dogs bark'; expected .*\['Dogs', 'bark'\]"):
            read(sentences)


def test_no_sentences(encoder):
    assert encode(encoder, []).shape == (0, 0, encoder.size)
    assert encode(encoder, [[], []]).shape == (2, 0, encoder.size)


def test_a_sentence_without_words_or_special_pieces_among_others():
    pieces = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "a": 1, "b": 2}, "?"))
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    encoder = PretrainedEncoder(
        transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, unk_token="?"),
        transformers.BertModel(transformers.BertConfig(vocab_size=3, **sizes)),
    ).eval()
    nothing, some = encode(encoder, [[], ["a", "b"]])
    assert torch.equal(nothing, torch.zeros_like(some))
    torch.testing.assert_close(some, encode(encoder, [["a", "b"]])[0])


def test_saved_without_weights_and_built_again(encoder, tmp_path):
    encoder.save_assets(tmp_path)
    assert not list(tmp_path.glob("*.safetensors"))
    again = PretrainedEncoder.from_assets(tmp_path).eval()
    again.load_state_dict(encoder.state_dict())
    sentences = [["abc", "d"], ["ef"]]
    torch.testing.assert_close(encode(again, sentences), encode(encoder, sentences))


def test_it_can_be_trained(encoder):
    lengths = torch.tensor([2])
    encoder(encoder.inputs([["abc", "d"]]), lengths).sum().backward()
    assert any(
        parameter.grad.abs().sum() > 0 for parameter in encoder.parameters() if parameter.grad is not None
    )


def test_of_an_encoder_and_a_decoder_the_first_reads(tmp_path):
    tiny_pretrained.save("t5", tmp_path)
    encoder = PretrainedEncoder.load(tmp_path).eval()
    whole = transformers.T5EncoderModel.from_pretrained(tmp_path).eval()
    pieces = torch.tensor([[2, 4, 5, 3]])
    with torch.no_grad():
        states = whole(input_ids=pieces).last_hidden_state[0]
    torch.testing.assert_close(encode(encoder, [["a", "b"]])[0], states[1:3])
    assert not any("decoder" in name for name, _ in encoder.named_parameters())


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_words_are_cut_as_in_running_text(kind, tmp_path):
    tiny_pretrained.save(kind, tmp_path)
    bytes_of = tokenizers.ByteLevelBPETokenizer()
    texts = ["abc def the dog abc def"] * 20
    bytes_of.train_from_iterator(texts, 330, special_tokens=["<s>", "<pad>", "</s>", "<unk>"])
    (tmp_path / "tokenizer").mkdir()
    bytes_of.save_model(str(tmp_path / "tokenizer"))
    made = {"roberta": transformers.RobertaTokenizerFast, "gpt2": transformers.GPT2TokenizerFast}[kind]
    tokenizer = made.from_pretrained(tmp_path / "tokenizer")
    encoder = PretrainedEncoder(tokenizer, transformers.AutoModel.from_pretrained(tmp_path))
    whole = tokenizer(" abc def the", add_special_tokens=False)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(whole) == ["Ġabc", "Ġdef", "Ġthe"]
    inputs = encoder.inputs([["abc", "def", "the"]])
    assert inputs["pieces"].flatten()[inputs["source"]].tolist() == whole


def test_slow_tokenizers_will_do(encoder):
    class Slow:
        model_max_length, unk_token_id, is_fast = 16, 1, False

        def __call__(self, text, add_special_tokens=True, **options):
            if isinstance(text, list):
                return {"input_ids": [self(one, add_special_tokens)["input_ids"] for one in text]}
            found = encoder.tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"]
            return {"input_ids": found}

    slow = PretrainedEncoder(Slow(), encoder.model).eval()
    sentences = [["abc", "d"], ["ef"]]
    torch.testing.assert_close(encode(slow, sentences), encode(encoder, sentences))


def test_what_cannot_read_is_told_in_one_line(tmp_path):
    tiny_pretrained.save("reformer", tmp_path)
    with pytest.raises(
        SettingError, match=r"\(reformer\) cannot read a sentence: it has no vector of size 8"
    ):
        PretrainedEncoder.load(tmp_path).require_reads()
    shape = {"num_attention_heads": 2, "num_key_value_heads": 32}  # heads that do not fit
    config = transformers.AutoConfig.for_model("qwen2", **{**tiny_pretrained.PLAIN, **shape})
    broken = PretrainedEncoder(
        PretrainedEncoder.load(tmp_path).tokenizer, transformers.AutoModel.from_config(config)
    )
    with pytest.raises(SettingError, match=r"\(qwen2\) cannot read a sentence: The size of tensor") as caught:
        broken.eval().require_reads()
    assert "\n" not in str(caught.value)
    assert not broken.model.training


def test_trying_to_read_leaves_no_trace(encoder):
    state = torch.get_rng_state()
    encoder.require_reads()
    assert torch.equal(torch.get_rng_state(), state)
    assert not encoder.model.training
    assert all(parameter.grad is None for parameter in encoder.parameters())


def test_a_tokenizer_whose_special_pieces_merge_with_words_is_explained(encoder):
    def merging(text, add_special_tokens=True):
        return {"input_ids": [7] if add_special_tokens else [3, 4]}

    with pytest.raises(ValueError, match="the tokenizer changes the pieces of a word"):
        PretrainedEncoder(merging, encoder.model)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(DataError, match="holds no tokenizer and model that can be read"):
        PretrainedEncoder.load(tmp_path)
    with pytest.raises(DataError, match=tmp_path.name):
        PretrainedEncoder.from_assets(tmp_path)


@pytest.mark.parametrize("width", [4, 5, 8, 14])
@pytest.mark.parametrize("pieces", [0, 1, 3, 4, 5, 13, 14, 15, 100])
def test_windows_give_each_piece_once_and_with_context(pieces, width):
    found = windows(pieces, width)
    given = [piece for _, _, first, last in found for piece in range(first, last)]
    assert given == list(range(pieces))
    for start, stop, first, last in found:
        assert 0 <= stop - start <= width
        assert start == 0 or first - start >= width // 4
        assert stop == pieces or stop - last >= width // 4
