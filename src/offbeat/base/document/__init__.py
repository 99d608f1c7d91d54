"""Parts of documents: tables and grids, which the terminal, pages and pictures show."""
