-- A database in memory for what one connection finds and another one reads.
attach if not exists ':memory:' as evaluation;
