"""The Beam graph, the only package that imports apache_beam."""
