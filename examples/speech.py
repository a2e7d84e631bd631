"""Recognise artificial speech: learn letters from untimed texts, then transcribe and time a new one."""

import torch

import strukt
from strukt.nn import KneserNey

LETTERS = "-abcdefghijklmnopqrstuvwxyz "                              # the blank is 0
TEXTS = ["the cat sat on the mat", "a dog ran to the cat", "the dog sat", "a cat ran on a mat", "the mat on a dog"]

torch.manual_seed(0)
voice = torch.randn(len(LETTERS), 12)                                # how each letter sounds


def speak(text, noise):
    """Return two to four frames of noisy sound for each letter of a text, and the labels of the letters."""
    labels = torch.tensor([LETTERS.index(letter) for letter in text])
    frames = labels.repeat_interleave(torch.randint(2, 5, labels.shape))
    return voice[frames] + noise * torch.randn(len(frames), 12), labels


def spell(labels):
    return "".join(LETTERS[label] for label in labels if label >= 0)


last = torch.nn.Conv1d(64, len(LETTERS), 1)
network = torch.nn.Sequential(torch.nn.Conv1d(12, 64, 5, padding=2), torch.nn.ReLU(), last)
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(120):
    sounds, targets = zip(*[speak(text, noise=0.6) for text in TEXTS], strict=True)
    frames, sizes = ([len(each) for each in items] for items in (sounds, targets))
    padded = torch.nn.utils.rnn.pad_sequence(sounds, batch_first=True)
    log_probs = network(padded.mT).log_softmax(1).permute(2, 0, 1)   # (frames, items, letters), as in PyTorch
    loss = strukt.ctc_loss(log_probs, torch.cat(targets), frames, sizes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model = KneserNey(len(LETTERS), order=4)                             # n-grams of letters, from texts alone
model.count([speak(text, noise=0.0)[1] for text in TEXTS])
torch.manual_seed(0)
sound, said = speak("the cat ran to a dog", noise=1.4)               # a new text, in a loud street
log_probs = network(sound.T).log_softmax(0).T.detach()
print("best path:", spell(strukt.ctc_greedy(log_probs).labels))
ngrams = {"language_model": model, "language_weight": 1.5, "insertion_bonus": 2.0}
print("with n-grams:", spell(strukt.ctc_beam_search(log_probs, beam_size=50, **ngrams).labels[0]))
spans = strukt.CTC(log_probs, said).spans()
print("the word cat: frames", int(spans.starts[4]), "to", int(spans.ends[6]) - 1)
