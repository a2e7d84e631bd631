"""Binary trees over spans: the inside recursion."""
