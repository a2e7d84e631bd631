"""Speech in small: a network learns letters from texts without times, then hears one, and tells when it was said."""

import torch

import strukt
from strukt.nn import KneserNey

LETTERS = "-abcdefghijklmnopqrstuvwxyz "                              # the blank is 0
TEXTS = ["the cat sat on the mat", "a dog ran to the cat", "the dog sat", "a cat ran on a mat", "the mat on the dog"]

torch.manual_seed(0)
voice = torch.randn(len(LETTERS), 12)                                # how each letter sounds


def speak(text, noise):
    """Two to four frames of noisy sound for each letter."""
    labels = torch.tensor([LETTERS.index(letter) for letter in text])
    frames = labels.repeat_interleave(torch.randint(2, 5, labels.shape))
    return voice[frames] + noise * torch.randn(len(frames), 12), labels


network = torch.nn.Sequential(torch.nn.Conv1d(12, 64, 5, padding=2), torch.nn.ReLU(), torch.nn.Conv1d(64, len(LETTERS), 1))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for step in range(120):
    sounds, targets = zip(*(speak(text, noise=0.6) for text in TEXTS))
    frames, sizes = [[len(each) for each in items] for items in (sounds, targets)]
    padded = torch.nn.utils.rnn.pad_sequence(sounds, batch_first=True)
    log_probs = network(padded.mT).log_softmax(1).permute(2, 0, 1)   # (frames, items, letters), as PyTorch has them
    loss = strukt.ctc_loss(log_probs, torch.cat(targets), frames, sizes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model = KneserNey(len(LETTERS), order=4)                             # of letters, from texts alone
model.count([speak(text, 0.0)[1] for text in TEXTS])
torch.manual_seed(0)
sound, said = speak("the cat ran to a dog", noise=1.4)               # a new text, in a loud street
log_probs = network(sound.T[None]).log_softmax(1)[0].T.detach()
spell = lambda labels: "".join(LETTERS[label] for label in labels if label >= 0)
print("best path:", spell(strukt.ctc_greedy(log_probs).labels))
found = strukt.ctc_beam_search(log_probs, beam_size=50, language_model=model, language_weight=1.5, insertion_bonus=2.0)
print("with n-grams:", spell(found.labels[0]))
spans = strukt.CTC(log_probs, said).spans()
print("the word cat: frames", int(spans.starts[4]), "to", int(spans.ends[6]) - 1)
