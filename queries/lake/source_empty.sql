-- A table of the lake without data files
select {{typed}}
where false
