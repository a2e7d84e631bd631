"""Small language models that read from left to right, by name, all over the same words."""

from strukt.nn import AdditiveAttention, MeanFieldAttention, MeanFieldEncoder, Transformer
from strukt.nn.causal import CausalLanguageModel
from strukt.nn.recurrent import RecurrentLanguageModel

WORDS, WINDOW = 7, 9

ATTENTIONS = {
    "none": lambda: None,
    "mean field": lambda: MeanFieldAttention(8, 8, 4, iterations=3),
    "additive": lambda: AdditiveAttention(8, 8, 4),
}
ENCODERS = {
    "mean field": lambda: MeanFieldEncoder(8, 8, channels=2, iterations=2, rank=3, causal=True),
    "absolute": lambda: Transformer(8, 8, layers=2, heads=2, causal=True),
    "relative": lambda: Transformer(8, 8, layers=2, heads=2, positions="relative", causal=True),
}


FED = {f"{name}, fed": ATTENTIONS[name] for name in ("mean field", "additive")}


def recurrent(attention):
    options = {"layers": 2, "dropout": 0.4, "attention": (ATTENTIONS | FED)[attention](), "window": 3}
    return RecurrentLanguageModel(WORDS, 8, **options, input_feeding=attention in FED).eval()


def causal(encoder):
    return CausalLanguageModel(WORDS, 8, ENCODERS[encoder](), 0.4, WINDOW).eval()
