"""The fully connected binary CRF (Boltzmann machine): exact inference by enumeration, and approximations."""
