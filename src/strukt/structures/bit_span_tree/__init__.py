"""Binary trees over spans whose labels are codes of independent bits."""
