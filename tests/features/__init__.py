"""Tests of the features by row of rows.tsv; a package, so that its files may bear the names of files elsewhere in tests."""
