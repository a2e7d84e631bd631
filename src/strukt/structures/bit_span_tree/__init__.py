"""Binary trees over spans that carry codes of independent bits: the inside recursion, which never sees a code."""
