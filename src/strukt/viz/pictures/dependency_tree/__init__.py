"""Words with tags below them and arcs above: dependency trees."""
