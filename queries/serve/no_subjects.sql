-- No subject has a page of the tables that changed.
select null::varchar as target, null::varchar as "table", null::varchar as key, null::varchar as subject_type, null::varchar as subject_id
where false
