"""Find the states behind a series of measurements with a hidden Markov model, in the style of hmmlearn."""

import tempfile

import torch

from strukt import HMM, Gaussian, GaussianPrior, Priors, pad_concatenated

torch.manual_seed(0)

# A machine is idle, working or overheated; every minute its power and its temperature are measured.
POWER_AND_HEAT = torch.tensor([[1.0, 20.0], [8.0, 40.0], [9.0, 80.0]])
STAYS = torch.tensor([[0.9, 0.1, 0.0], [0.1, 0.85, 0.05], [0.3, 0.0, 0.7]])
machine = HMM(torch.zeros(3), STAYS.log(), Gaussian(POWER_AND_HEAT, torch.tensor([[0.2, 9.0]] * 3)))
days = [machine.sample_with_states((), length) for length in (300, 120, 200)]

# hmmlearn keeps sequences in one array with their lengths; strukt pads them.
X, lengths = torch.cat([day.x for day in days]), [len(day.x) for day in days]
x, lengths = pad_concatenated(X, lengths)


def fit(states: int) -> HMM:
    """Fit a model with this number of states; the best of five starts."""
    emission = Gaussian(torch.zeros(states, 2), torch.ones(states, 2))
    form = HMM(torch.zeros(states), torch.zeros(states, states), emission)
    return form.fit(x, lengths, restarts=5, priors=Priors(emission=GaussianPrior(scatter=0.01))).model


models = {states: fit(states) for states in (2, 3, 4)}
best = min(models, key=lambda states: models[states].bic(x, lengths))
with tempfile.TemporaryDirectory() as folder:
    models[best].save(f"{folder}/machine")
    model = HMM.load(f"{folder}/machine")

order = model.emission.means[:, 1].argsort()
path, _ = model.viterbi(x, lengths)
right = sum((order[day.states] == row[: len(day.x)]).sum() for day, row in zip(days, path, strict=True))
print(f"{best} states; {right / len(X):.1%} of the minutes are in the right one")
print(f"the next temperature on the last day: {model.predict_next(x, lengths).mean[2, 1]:.0f} degrees")
