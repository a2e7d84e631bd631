"""Binary trees whose spans have heads."""
