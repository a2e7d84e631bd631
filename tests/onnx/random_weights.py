"""Models of which no structures tie."""

from torch import nn


def with_random_weights(model: nn.Module) -> nn.Module:
    """The model in evaluation; scorers are zero before they have learned, and all structures tie."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx])  # as it stays in training
    return model.eval()
