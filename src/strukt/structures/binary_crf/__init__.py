"""The fully connected binary CRF (Boltzmann machine), with exact inference by enumeration."""
