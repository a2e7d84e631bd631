"""Words with brackets above them: constituents and nested entities."""
