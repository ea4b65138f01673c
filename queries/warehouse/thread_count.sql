-- The threads of DuckDB for one statement.
select current_setting('threads')::integer as threads;
