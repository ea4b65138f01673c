-- grain: one row per row of a relation that the lake holds now
create or replace temp table lake_held as
{{query}};
