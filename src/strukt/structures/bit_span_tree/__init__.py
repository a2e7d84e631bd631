"""Binary trees over spans with codes of independent bits, by the inside algorithm over spans alone."""
