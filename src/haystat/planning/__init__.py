"""How many labels it will take, before there is one."""
