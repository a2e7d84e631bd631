"""Regular languages over tokens, as finite automata: phrases, regular expressions, set operations."""

from strukt.automata.automaton import Automaton
from strukt.automata.languages import any_of, anything, avoiding, containing, phrase
from strukt.automata.regular_expressions import matching

__all__ = ["Automaton", "any_of", "anything", "avoiding", "containing", "matching", "phrase"]
