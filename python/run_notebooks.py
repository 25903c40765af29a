"""Runs each notebook in docs/notebooks from its beginning: none may fail."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

folder = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
notebooks = sorted(folder.glob("*.ipynb"))
for path in notebooks:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells ran")
if not notebooks:
    sys.exit("there is no notebook")
