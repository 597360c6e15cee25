"""From what a user names to a table: a built-in set, or a file by its ending."""

from __future__ import annotations

import re
from pathlib import Path

from wengert.cli.datasets.builtin_sets import SETS, read_builtin
from wengert.cli.datasets.data_table import DataTable
from wengert.cli.datasets.delimited import read_delimited
from wengert.cli.datasets.numpy_files import read_numpy
from wengert.cli.datasets.parquet import read_parquet
from wengert.cli.exit_codes import DataFault, UsageFault
from wengert.core.words.foreign_names.nearest import misspelt

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
ENDINGS = (*SEPARATORS, ".parquet", ".npy", ".npz")
# How files begin that are compressed, and what unpacks them.
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"PK\x03\x04": ("zip", "unzip"),
    b"BZh[1-9]1AY&SY": ("bzip2", "bunzip2"),
    b"\xfd7zXZ\x00": ("xz", "unxz"),
    rb"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
}
_LONGEST_BEGIN = 10  # bytes of it


def read_data(name: str, delimiter: str | None = None, header: bool = True) -> DataTable:
    """The table of a built-in set or of a file."""
    if name in SETS:
        return read_builtin(name)
    path = Path(name)
    ending = path.suffix.lower()
    try:
        _require_file(path)
        _require_unpacked(path)
        if ending in SEPARATORS or delimiter is not None:
            return read_delimited(path, as_delimiter(delimiter) or SEPARATORS[ending], header)
        if ending in (".npy", ".npz"):
            return read_numpy(path)
        if ending == ".parquet":
            return read_parquet(path)
    except OSError as error:
        raise DataFault(f"{name}: cannot be read ({error.strerror or error}).") from None
    raise DataFault(
        f"{name}: its ending {ending!r} is not known; files are read by their endings "
        f"{', '.join(ENDINGS)}. Rename it, or say how its columns are separated: --delimiter ','."
    )


def as_delimiter(given: str | None) -> str | None:
    """The character that a user means."""
    if given is None:
        return None
    delimiter = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(
        given, given
    )
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise UsageFault(
            f"--delimiter: given {given!r}; it must be one character, or the word tab. Write "
            "--delimiter ';'."
        )
    return delimiter


def _require_unpacked(path: Path) -> None:
    """Refuse a file that is compressed, by how it begins; .npz is a zip archive itself."""
    with path.open("rb") as file:
        begins = file.read(_LONGEST_BEGIN)
    if path.suffix.lower() == ".npz":
        return
    for pattern, (kind, unpack) in _COMPRESSED.items():
        if re.match(pattern, begins):
            raise DataFault(
                f"{path}: is compressed ({kind}); files are read as they are. Unpack it first, "
                f"with {unpack}."
            )


def _require_file(path: Path) -> None:
    name = str(path)
    if path.is_dir():
        raise DataFault(f"{name}: is a folder; a file is needed.")
    if path.exists():
        return
    if path.suffix or "/" in name:
        raise DataFault(f"{name}: there is no such file (looked for in {Path.cwd()}).")
    guess = misspelt(name, SETS)
    meant = f" Did you mean {guess}?" if guess else ""
    raise DataFault(
        f"{name}: is no file and no built-in set; the sets are {', '.join(SETS)}.{meant}"
    )
