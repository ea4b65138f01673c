-- grain: one row per source of a target that this run has loaded, or that the run has loaded which it resumes
-- parameters: $as_of; $run_id: null for none
create or replace temp table run_sources as
select target, source from source_state where as_of = $as_of::timestamptz
union
select target, source from pulls where run_id = $run_id and status in ('complete', 'partial');
