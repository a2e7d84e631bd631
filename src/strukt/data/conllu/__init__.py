"""CoNLL-U: sentences with their trees; entities, labels and pairs of sentences in its notes and comments."""

from strukt.data.conllu.dependency_trees import no_words, require_tree, tree_problems
from strukt.data.conllu.reading import Sentence, from_forms, read
from strukt.data.conllu.rules import COLUMNS, Word

__all__ = ["COLUMNS", "Sentence", "Word", "from_forms", "no_words", "read", "require_tree", "tree_problems"]
