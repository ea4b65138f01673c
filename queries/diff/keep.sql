-- grain: one row per change: the net difference of two times, which may be more than memory holds. {{difference}}: of difference.sql
create or replace temp table difference as
{{difference}};
