"""A tagger of your own as one ONNX graph, from inputs to the best tags, which runs without strukt.

Requires `pip install "strukt[onnx]"`.
"""

from tempfile import TemporaryDirectory

import onnxruntime
import torch

import strukt.onnx
from strukt import LinearChain


class Smoother(torch.nn.Module):
    """Tags noisy bits with the bits that were sent, of which neighbours are mostly equal."""

    def __init__(self):
        super().__init__()
        self.unary = torch.nn.Parameter(torch.zeros(2, 2))
        self.transition = torch.nn.Parameter(torch.zeros(2, 2))

    def tags(self, received, lengths):
        return LinearChain(self.unary[received], self.transition, lengths)

    def forward(self, received, lengths):
        return strukt.onnx.mode(self.tags(received, lengths))


torch.manual_seed(0)
sent = (torch.rand(400, 30) < 0.1).int().cumsum(1) % 2  # a bit in ten differs from the one before
received = torch.where(torch.rand(400, 30) < 0.2, 1 - sent, sent).long()  # a bit in five is wrong
lengths = torch.full((400,), 30)

model = Smoother()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(60):
    optimizer.zero_grad()
    (-model.tags(received, lengths).log_prob(sent.long()).mean()).backward()
    optimizer.step()

free = torch.export.Dim.DYNAMIC
with TemporaryDirectory() as folder:
    torch.onnx.export(
        model.eval(),
        (received[:3], lengths[:3]),
        f"{folder}/smoother.onnx",
        dynamo=True,
        input_names=["received", "lengths"],
        dynamic_shapes={"received": {0: free, 1: free}, "lengths": {0: free}},
        verbose=False,
    )
    session = onnxruntime.InferenceSession(f"{folder}/smoother.onnx")

(tags,) = session.run(None, {"received": received.numpy(), "lengths": lengths.numpy()})
print(
    f"wrong bits: {(received != sent).float().mean():.1%} received, {(tags != sent.numpy()).mean():.1%} tagged"
)
print("the graph finds the same tags as strukt:", bool((tags == model(received, lengths).numpy()).all()))
