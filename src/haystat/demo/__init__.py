"""A generated record-linkage pool to try haystat on: people, their second records, a matcher."""

from haystat.demo.linkage import LinkagePool, make_linkage_pool

__all__ = ["LinkagePool", "make_linkage_pool"]
