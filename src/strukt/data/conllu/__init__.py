"""CoNLL-U: sentences with their trees; entities, labels and pairs of sentences in its notes and comments."""

from strukt.data.conllu.sentences import (
    COLUMNS,
    Sentence,
    Word,
    from_forms,
    no_words,
    read,
    require_tree,
    tree_problems,
)

__all__ = ["COLUMNS", "Sentence", "Word", "from_forms", "no_words", "read", "require_tree", "tree_problems"]
