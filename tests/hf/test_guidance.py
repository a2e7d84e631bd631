"""Models of transformers with a guide generate what meets the constraint, and as probably as they should."""

import math

import pytest
import tokenizers
import torch
import transformers
from scipy.stats import chisquare
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from strukt import HMM, HMMGuide, InfeasibleError, PCFGGuide
from strukt.automata import anything, avoiding, containing, matching, phrase
from strukt.hf import GuidedLogitsProcessor, token_spellings

V, END, LENGTH = 7, 0, 8
CONSTRAINT = containing([[3, 4], [5]], V) & avoiding([[5, 5], [4, 4]], V)


def hmm(z: int = 5, v: int = V) -> HMM:
    torch.manual_seed(1)
    return HMM(torch.randn(z), torch.randn(z, z), torch.randn(z, v))


def gpt2(**options) -> transformers.GPT2LMHeadModel:
    transformers.set_seed(0)
    sizes = {
        "vocab_size": V,
        "n_embd": 16,
        "n_layer": 1,
        "n_head": 2,
        "n_positions": 32,
        "initializer_range": 0.5,
    }
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**sizes, bos_token_id=6, eos_token_id=END, pad_token_id=END, **options)
    ).eval()


class LargestTensor(TorchDispatchMode):
    """Record the number of entries of the largest tensor that an operator returns."""

    size = 0

    def __torch_dispatch__(self, function, types, values=(), options=None):
        result = function(*values, **(options or {}))
        for tensor in tree_leaves(result):
            self.size = max(self.size, tensor.numel() if isinstance(tensor, torch.Tensor) else 0)
        return result


def until_end(row: list[int]) -> list[int]:
    return row[: row.index(END)] if END in row else row


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": True, "num_return_sequences": 40, "top_k": 3, "temperature": 1.5},
        {"do_sample": False},
        {"do_sample": False, "num_beams": 4, "num_return_sequences": 3},
        {"do_sample": True, "num_beams": 3, "num_return_sequences": 2},
    ],
    ids=["sampling", "greedy", "beams", "sampled beams"],
)
def test_whatever_is_generated_meets_the_constraint(options):
    model, guide = gpt2(), HMMGuide(hmm(), CONSTRAINT, LENGTH, END)
    prompt = torch.tensor([[6, 1, 2], [END, 6, 5]])  # the second one padded
    processor = GuidedLogitsProcessor(guide, prompt.shape[1], padding=END)
    given = {"attention_mask": (prompt != END).long(), "max_new_tokens": LENGTH, **options}
    alone = model.generate(prompt, **given)
    guided = model.generate(prompt, logits_processor=[processor], **given)
    assert not all(CONSTRAINT.accepts(until_end(row)) for row in alone[:, 3:].tolist())
    assert all(CONSTRAINT.accepts(until_end(row)) for row in guided[:, 3:].tolist())
    assert len({tuple(row) for row in guided.tolist()}) > 1


@pytest.mark.parametrize("options", [{"do_sample": True}, {"do_sample": False, "num_beams": 2}])
def test_grammars_guide_as_well(options):
    model, prompt = gpt2(), torch.tensor([[END, 6, 1], [6, 2, 4]])
    torch.manual_seed(0)
    root, rules, emission = torch.randn(2), torch.randn(2, 16), torch.randn(2, V)
    emission[:, END] = -math.inf
    grammar = root.log_softmax(0), rules.log_softmax(1).view(2, 4, 4), emission.log_softmax(1).mT
    guide = PCFGGuide(*grammar, containing([[3, 4]], V), 4, END)
    given = {"attention_mask": (prompt != END).long(), "max_new_tokens": 4, **options}
    guided = model.generate(prompt, logits_processor=[GuidedLogitsProcessor(guide, 3, padding=END)], **given)
    assert all(containing([[3, 4]], V).accepts(until_end(row)) for row in guided[:, 3:].tolist())


def test_samples_of_the_hidden_markov_model_itself_are_exact():
    """A model that is the guide's own: its guided samples are its texts given the constraint."""
    model, constraint = hmm(3, 3), containing([[1, 2]], 3)
    guide = HMMGuide(model, constraint, 4)
    prompt = torch.tensor([2])
    processor = GuidedLogitsProcessor(guide, 1)
    torch.manual_seed(0)
    texts = prompt.expand(3000, 1)
    for _ in range(4):
        longer = torch.nn.functional.pad(texts, (0, 1))
        scores = processor(texts, model.predict(longer)[:, -1])
        assert torch.allclose(scores.logsumexp(1), torch.zeros(len(texts)), atol=1e-4)
        texts = torch.cat([texts, torch.multinomial(scores.exp(), 1)], 1)
    every = torch.cartesian_prod(*[torch.arange(3)] * 4)
    met = torch.tensor([constraint.accepts(row) for row in every])
    chances = model.log_prob(torch.cat([prompt.expand(len(every), 1), every], 1)[met]).softmax(0)
    places = 3 ** torch.arange(3, -1, -1)
    counts = torch.bincount((texts[:, 1:] * places).sum(1), minlength=81)
    assert counts[~met].sum() == 0
    assert chisquare(counts[met].numpy(), (3000 * chances.double()).numpy(), sum_check=False).pvalue > 1e-3


def test_scores_of_beams_are_those_of_texts_and_constraint():
    """Steps of a beam add up to log p(text) + log p(constraint | text) - log p(constraint | prompt)."""
    model, guide = gpt2(), HMMGuide(hmm(), CONSTRAINT, LENGTH)
    model.generation_config.eos_token_id = None
    prompt = torch.tensor([[6, 1]])
    out = model.generate(
        prompt, logits_processor=[GuidedLogitsProcessor(guide, 2)], max_new_tokens=LENGTH, num_beams=4,
        do_sample=False, length_penalty=0.0, return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    with torch.no_grad():
        log_probs = model(out.sequences).logits[0, 1:-1].log_softmax(1)
    text = log_probs.gather(1, out.sequences[0, 2:, None]).sum()
    assert out.sequences_scores[0].item() == pytest.approx(
        (text - guide.log_prob(guide.start(prompt))).item(), abs=1e-4
    )


def test_steps_do_not_depend_on_what_was_read_before():
    guide = HMMGuide(hmm(), CONSTRAINT, LENGTH, END)
    texts = torch.tensor([[6, 1, 2, 3], [6, 1, 3, 4], [2, 2, 1, 1]])
    processor = GuidedLogitsProcessor(guide, 2)
    processor(texts[:, :3], torch.zeros(3, V))
    rows = torch.tensor([1, 1, 2, 0])
    for step in (
        texts[rows],
        texts[rows][:, :2],
        texts[:1],
    ):  # the next step of beams, another prompt, a rerun
        found = processor(step, torch.zeros(len(step), V))
        fresh = GuidedLogitsProcessor(guide, 2)(step, torch.zeros(len(step), V))
        assert torch.allclose(found, fresh, atol=1e-5)


def test_texts_without_prompts_may_grow_in_number():
    guide = HMMGuide(hmm(), CONSTRAINT, LENGTH, END)
    processor = GuidedLogitsProcessor(guide, 0)
    processor(torch.zeros(1, 0, dtype=torch.long), torch.zeros(1, V))
    step = torch.tensor([[3], [1], [3]])
    found, fresh = (each(step, torch.zeros(3, V)) for each in (processor, GuidedLogitsProcessor(guide, 0)))
    assert torch.equal(found, fresh)


@pytest.mark.parametrize("reordered", [False, True])
def test_a_step_of_many_texts_needs_memory_linear_in_their_number(reordered):
    guide = HMMGuide(hmm(), anything(V), LENGTH)
    texts = torch.randint(V, (1000, 5))
    processor = GuidedLogitsProcessor(guide, 1)
    processor(texts[:, :4], torch.zeros(1000, V))
    largest = LargestTensor()
    with largest:
        processor(texts.flip(0) if reordered else texts, torch.zeros(1000, V))
    assert largest.size <= 1000 * 2 * V


def test_padding_in_front_is_not_read():
    guide = HMMGuide(hmm(), CONSTRAINT, LENGTH)
    padded = GuidedLogitsProcessor(guide, 4, padding=2)(torch.tensor([[2, 2, 5, 2, 1]]), torch.zeros(1, V))
    plain = GuidedLogitsProcessor(guide, 2)(torch.tensor([[5, 2, 1]]), torch.zeros(1, V))
    assert torch.equal(padded, plain)
    nothing = GuidedLogitsProcessor(guide, 2, padding=2)(torch.tensor([[2, 2]]), torch.zeros(1, V))
    assert torch.equal(nothing, GuidedLogitsProcessor(guide, 0)(torch.zeros(1, 0).long(), torch.zeros(1, V)))


def test_errors_say_what_was_expected():
    guide = HMMGuide(hmm(), phrase([1, 2], V), 2)
    with pytest.raises(ValueError, match="prompt_length is -1; expected 0 or more"):
        GuidedLogitsProcessor(guide, -1)
    processor = GuidedLogitsProcessor(guide, 1)
    with pytest.raises(ValueError, match="scores has 8 columns; expected 7, one for each word"):
        processor(torch.tensor([[1]]), torch.zeros(1, 8))
    with pytest.raises(
        ValueError, match=r"the texts have 3 tokens; .* pass max_new_tokens=2, the guide's length"
    ):
        processor(torch.tensor([[1, 1, 2]]), torch.zeros(1, V))
    with pytest.raises(ValueError, match="the texts have 0 tokens; expected prompt_length = 1"):
        processor(torch.zeros(1, 0).long(), torch.zeros(1, V))
    excluded = torch.zeros(1, V).index_fill(1, torch.tensor([2]), -math.inf)
    with pytest.raises(
        InfeasibleError, match="no token can follow the 1 generated ones of text 0: the model, or another"
    ):
        processor(torch.tensor([[1, 1]]), excluded)


def test_one_prompt_without_continuations_is_named():
    processor = GuidedLogitsProcessor(HMMGuide(hmm(), phrase([1, 2], V), 3, END), 1)
    scores = torch.zeros(3, V)
    scores[1, 2] = -math.inf
    texts = torch.tensor([[3, 1], [4, 1], [3, 1]])
    with pytest.raises(InfeasibleError, match="no token can follow the 1 generated ones of text 1"):
        processor(texts, scores)
    beams = torch.tensor([[3, 1], [3, 1]])  # one of two beams may be excluded
    assert processor(beams, scores[:2]).isfinite().any(1).tolist() == [True, False]
    ended = torch.tensor([[3, 1, 2, END], [4, 1, 2, END]])  # what follows does not matter
    processor = GuidedLogitsProcessor(HMMGuide(hmm(), phrase([1, 2], V), 4, END), 1)
    assert (processor(ended, torch.full((2, V), -math.inf)) == -math.inf).all()


def byte_tokenizer() -> transformers.PreTrainedTokenizerFast:
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>"], initial_alphabet=alphabet
    )
    bpe.train_from_iterator(["the dog saw the cat", "the cat saw a dog"], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", pad_token="<s>")


def test_spellings_add_up_to_the_text():
    tokenizer = byte_tokenizer()
    spellings = token_spellings(tokenizer, len(tokenizer) + 3)
    assert spellings[tokenizer.bos_token_id] is None
    assert spellings[-3:] == [None] * 3
    ids = tokenizer("saw the cat: a dog")["input_ids"]
    assert "".join(spellings[number] for number in ids) == "saw the cat: a dog"
    assert any(len(text) > 3 for text in spellings if text)
    assert matching("saw (the|a) cat: .*", spellings).accepts(ids)
    assert spellings[tokenizer("é")["input_ids"][0]] == "\ufffd"


def test_a_byte_of_a_character_is_spelled_alone():
    bytes_of_text = {f"<0x{byte:02X}>": byte + 1 for byte in range(256)}
    vocabulary = {"<unk>": 0, **bytes_of_text, "▁": 257, "a": 258}
    model = tokenizers.models.BPE(vocabulary, [], byte_fallback=True, unk_token="<unk>")
    words = tokenizers.Tokenizer(model)
    steps = tokenizers.decoders
    words.decoder = steps.Sequence([steps.Replace("▁", " "), steps.ByteFallback(), steps.Fuse()])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")
    spellings = token_spellings(tokenizer)
    assert spellings == [None, *map(chr, range(128)), *["\ufffd"] * 128, " ", "a"]


def test_numbers_without_a_token_have_no_spelling():
    level = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "the": 2, "dog": 5}, "<s>"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=level, bos_token="<s>")
    assert token_spellings(tokenizer) == [None, None, " the", None, None, " dog"]


def test_words_are_spelled_with_their_spaces():
    level = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "the": 1, "dog": 2}, "<s>"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=level, bos_token="<s>")
    assert token_spellings(tokenizer) == [None, " the", " dog"]
    with pytest.raises(ValueError, match="words is 2; expected at least the 3 tokens of the tokenizer"):
        token_spellings(tokenizer, 2)
