"""Second-order dependency parsing by head selection, with siblings and grandparents (Wang and Tu 2020)."""

from strukt.inference.second_order.belief_propagation_heads import SecondOrderBeliefs, belief_propagation
from strukt.inference.second_order.mean_field_heads import SecondOrderMeanField, mean_field

__all__ = ["SecondOrderBeliefs", "SecondOrderMeanField", "belief_propagation", "mean_field"]
