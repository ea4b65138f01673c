-- A join keeps the side in memory that DuckDB expects to be smaller.
reset disabled_optimizers;
