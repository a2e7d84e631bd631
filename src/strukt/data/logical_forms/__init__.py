"""Logical forms of sentences: as tags of words, in two tagging schemes, and the files of COGS."""

from strukt.data.logical_forms.word_tags import NONE, SELF, Tags, form_of, tags_of

__all__ = ["NONE", "SELF", "Tags", "form_of", "tags_of"]
