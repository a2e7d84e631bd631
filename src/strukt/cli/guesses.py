"""Names of options in other programs, mapped to those in strukt, to suggest options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "learning_rate": ("lr", "learnrate", "rate", "step_size", "eta"),
        "epochs": ("num_epochs", "max_epochs", "n_epochs", "num_train_epochs", "iterations", "epoch"),
        "tokens": (
            "batch_size",
            "batchsize",
            "batch",
            "bs",
            "max_tokens",
            "train_batch_size",
            "words_per_batch",
        ),
        "max_minutes": ("max_time", "time_limit", "minutes"),
        "weight_decay": ("wd", "l2", "decay"),
        "clip": ("grad_clip", "gradient_clip", "max_grad_norm", "clip_norm"),
        "warmup": ("warmup_ratio", "warmup_steps"),
        "patience": ("early_stopping", "early_stop"),
        "seed": ("random_seed", "random_state"),
        "precision": ("fp16", "bf16", "amp", "mixed_precision", "dtype"),
        "gpus": ("gpu", "cuda", "device", "use_gpu"),
        "accelerator": ("gpu", "cuda", "device", "use_gpu", "cpu", "gpus"),
        "devices": ("num_gpus", "nproc", "n_gpu", "gpus"),
        "threads": ("num_threads", "cores", "jobs", "n_jobs", "num_workers"),
        "checkpoint_steps": ("save_steps", "checkpoint", "save_every"),
        "train": ("train_file", "train_path", "training", "data", "corpus", "input", "train_data"),
        "dev": ("dev_file", "valid", "val", "validation", "eval", "dev_path", "validation_file", "test"),
        "output": ("out", "output_dir", "output_file", "save", "save_dir", "model_dir", "out_dir", "outfile"),
        "resume": ("resume_from_checkpoint", "continue", "restart"),
        "config": ("config_file", "cfg", "conf", "yaml"),
        "probabilities": ("marginals", "probs", "prob", "proba", "scores", "confidence", "probability"),
        "kind": ("encoder_type", "arch", "architecture", "rnn", "encoder_kind"),
        "pretrained": ("bert", "model_name", "model_name_or_path", "pretrained_model", "huggingface"),
        "hidden": ("hidden_size", "hidden_dim", "d_model", "hidden_units", "lstm_size"),
        "layers": ("num_layers", "n_layers", "depth"),
        "heads": ("num_heads", "n_heads", "nhead"),
        "words": ("embedding_dim", "word_dim", "embedding_size", "emb_size", "embeddings"),
        "dropout": ("drop", "p_dropout", "dropout_rate"),
        "number": ("num", "count", "samples", "num_samples", "k"),
        "shard_size": ("chunk_size", "shard_bytes"),
        "format": ("input_format", "filetype", "fmt", "type"),
        "force": ("overwrite", "yes", "clobber"),
    }
)
"""For the last part of each option's dotted name, the option's names in other programs."""


def meant(typed: str, known: Sequence[str]) -> str | None:
    """Return the option that a user probably means by an unknown name, or None.

    Options whose last part equals that of the name come first, then options that other programs call by this name.
    Among several, the option with the fewest dots is returned.

    Args:
        typed: The unknown name, with its dashes.
        known: All existing options, with their dashes.

    Examples:
        >>> known = ["--optimizer.learning_rate", "--trainer.epochs", "--output"]
        >>> meant("--lr", known), meant("--num-epochs", known), meant("--trian", known)
        ('--optimizer.learning_rate', '--trainer.epochs', None)
    """
    name = typed.lstrip("-").replace("-", "_").lower().rpartition(".")[2]
    others = [here for here, synonyms in SYNONYMS.items() if name in synonyms]
    for last in (name, *others):
        matching = [option for option in known if option.lstrip("-").rpartition(".")[2] == last]
        if matching:
            return min(matching, key=lambda option: option.count("."))
    return None
