"""Brown clusters: word classes from bigram counts alone, or read from a file."""

from strukt.data.brown.clusters import brown_clusters, read_clusters

__all__ = ["brown_clusters", "read_clusters"]
