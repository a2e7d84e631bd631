"""Structured heads on Hugging Face encoders, and constrained text generation, in the style of transformers.

Importing this package registers the heads with transformers: `AutoConfig`, `AutoModel` and
`AutoModelForTokenClassification` load a saved `StructuredHead`, and `pipeline("token-classification")` tags words.
"""

from strukt.errors import MissingExtraError

try:
    import transformers
except ImportError as error:
    raise MissingExtraError("transformers", "hf") from error

from transformers.pipelines import PIPELINE_REGISTRY

from strukt.hf.collation import WordCollator
from strukt.hf.configuration import StructuredHeadConfig
from strukt.hf.encoding import encode_words, word_numbers
from strukt.hf.guidance import GuidedLogitsProcessor, token_spellings
from strukt.hf.modeling import StructuredHead, StructuredOutput
from strukt.hf.pipelines import WordTagPipeline

__all__ = [
    "GuidedLogitsProcessor",
    "StructuredHead",
    "StructuredHeadConfig",
    "StructuredOutput",
    "WordCollator",
    "WordTagPipeline",
    "encode_words",
    "token_spellings",
    "word_numbers",
]

transformers.AutoConfig.register(StructuredHeadConfig.model_type, StructuredHeadConfig, exist_ok=True)
for _auto in (transformers.AutoModel, transformers.AutoModelForTokenClassification):
    _auto.register(StructuredHeadConfig, StructuredHead, exist_ok=True)
# `register_pipeline` would warn that the task exists, and drop its default model.
PIPELINE_REGISTRY.supported_tasks["token-classification"]["impl"] = WordTagPipeline
