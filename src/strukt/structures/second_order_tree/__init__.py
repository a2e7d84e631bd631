"""Second-order projective trees, with scores of neighbouring siblings."""
