"""Find places by features of words, in the style of scikit-learn: `pip install "strukt[sklearn]"`."""

from strukt.sklearn import ChainClassifier

SENTENCES = [
    "[New York] is far from [Rome] .",
    "Anna lives in [Rome] now .",
    "Does [Oslo] lie in [Norway] ?",
    "They moved to [New York] in May .",
]


def read(text: str) -> tuple[list[str], list[str]]:
    """Return words and labels: B begins a place, I continues it, O is outside."""
    words, labels, inside = [], [], False
    for part in text.split():
        labels.append("B" if part.startswith("[") else "I" if inside else "O")
        inside = labels[-1] != "O" and not part.endswith("]")
        words.append(part.strip("[]"))
    return words, labels


def features(words: list[str]) -> list[dict[str, str | bool]]:
    """Describe each word by a dictionary of its features."""
    return [
        {"word": word.lower(), "title": word.istitle(), "before": words[i - 1].lower() if i else "BOS"}
        for i, word in enumerate(words)
    ]


words, labels = zip(*map(read, SENTENCES), strict=True)
model = ChainClassifier(c1=0.01, c2=0.01).fit([features(one) for one in words], labels)
new = ["Is", "Norway", "far", "from", "Bergen", "?"]
print(" ".join(f"{word}/{label}" for word, label in zip(new, model.predict_single(features(new)), strict=True)))
