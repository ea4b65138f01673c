-- What DuckDB may hold in its buffers from here on.
set memory_limit = {{limit}};
