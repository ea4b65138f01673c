-- grain: one row per row of a relation that the lake holds: none
create or replace temp table lake_held as
select {{typed}}
where false;
