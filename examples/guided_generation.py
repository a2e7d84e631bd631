"""Generate sentences that contain some words and avoid another, with a hidden Markov model that guides GPT-2.

The GPT-2 is small and trained here, so nothing is downloaded. Requires `pip install "strukt[hf]"`.
"""

import random

import torch
import transformers

from strukt import HMM, HMMGuide
from strukt.automata import avoiding, containing
from strukt.hf import GuidedLogitsProcessor

words = "[pad] [begin] [end] the every old young small big dog cat bird"
words = f"{words} barks sleeps sings sees likes follows".split()
words = {word: number for number, word in enumerate(words)}
longest = 16


def noun_phrase():
    count = random.choice([0, 0, 1, 2])
    adjectives = random.choices(["old", "young", "small", "big"], k=count)
    article = random.choice(["the", "every"])
    return [article, *adjectives, random.choice(["dog", "dog", "cat", "bird"])]


def sentence():
    subject = noun_phrase()
    alone = {"dog": "barks", "cat": "sleeps", "bird": "sings"}[subject[-1]]
    verb = random.choice(["sees", "likes", "follows"])
    rest = random.choice([[alone], [verb, *noun_phrase()]])
    return torch.tensor([words[word] for word in ["[begin]", *subject, *rest, "[end]"]])


random.seed(0)
transformers.set_seed(0)
config = transformers.GPT2Config(
    vocab_size=len(words), n_positions=20, n_embd=48, n_layer=2, n_head=2,
    bos_token_id=words["[begin]"], eos_token_id=words["[end]"],
)  # fmt: skip
model = transformers.GPT2LMHeadModel(config)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(200):
    sentences = [sentence() for _ in range(32)]
    batch = torch.nn.utils.rnn.pad_sequence(sentences, batch_first=True)
    logits = model(batch[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.mT, batch[:, 1:], ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()
prompt = torch.full((2000, 1), words["[begin]"])
drawn = {"do_sample": True, "top_k": 0, "max_new_tokens": longest}
drawn["pad_token_id"] = words["[pad]"]
samples = model.generate(prompt, **drawn)
lengths = (samples > 0).sum(1)
start = HMM(torch.zeros(48), torch.randn(48, 48), torch.randn(48, len(words)))
hmm = start.fit(samples, lengths, steps=40).model

small_cat, bird, the = [words["small"], words["cat"]], [words["bird"]], [words["the"]]
constraint = containing([small_cat, bird], len(words)) & avoiding([the], len(words))
guide = HMMGuide(hmm, constraint, length=longest, end=words["[end]"])
processor = GuidedLogitsProcessor(guide, prompt_length=1)
guided = model.generate(prompt[:200], logits_processor=[processor], **drawn)
for name, rows in (("plain", samples), ("guided", guided)):
    met = sum(constraint.accepts(row[row > 2]) for row in rows)
    print(f"{met} of {len(rows)} {name} sentences meet it")
for row in guided[:5].tolist():
    print(*[word for number in row for word in words if words[word] == number > 2])
