-- Copies tables, views, macros and comments. The catalog of the working file has the name of the file. DuckDB makes several statements of it.
copy from database warehouse to {{copy}};
