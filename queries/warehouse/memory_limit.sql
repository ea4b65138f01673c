-- Sets the limit of DuckDB's buffer pool.
set memory_limit = {{limit}};
