"""Files as Arrow reads them piece by piece: their columns and first rows, without the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haystat.core.tables import readable_table, spelling_of

#: file ending -> what Arrow calls it
ARROW = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
}


def arrow_dataset(path: Path) -> Any:
    """A file of a kind that Arrow knows; raises what Arrow does."""
    from pyarrow import csv, dataset

    kind: Any = ARROW[path.suffix.lower()]
    if kind == "csv":
        separator, point = spelling_of(path)
        kind = dataset.CsvFileFormat(
            csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(decimal_point=point),
        )
    return dataset.dataset(path, format=kind)


def first_rows(path: Path, n: int) -> Any:
    """The first n rows of a file as a table or batch; of Parquet no others are unpacked."""
    from pyarrow import parquet

    if ARROW[path.suffix.lower()] != "parquet":
        return arrow_dataset(path).head(n)
    with parquet.ParquetFile(path) as file:
        found = next(file.iter_batches(batch_size=n), None)
        return file.schema_arrow.empty_table() if found is None else found


def text_columns(path: Path) -> list[str]:
    """Columns of text of a file, in its order; none where its kind does not tell."""
    import pyarrow

    if ARROW.get(path.suffix.lower(), "json") == "json":
        return []
    texts = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_dictionary)
    with readable_table(path):
        schema = arrow_dataset(path).schema
    return [f.name for f in schema if any(is_text(f.type) for is_text in texts)]
