"""Elementwise operations as numbers: the rows of the table of loops. `Op` (see `ops.pxd`) names them."""
