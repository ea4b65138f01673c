-- A join keeps the side that the statement names second in memory.
set disabled_optimizers = 'build_side_probe_side';
