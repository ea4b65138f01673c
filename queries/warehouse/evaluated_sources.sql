-- grain: as source_state; is_of_run: this run has loaded the source, or the run has that it resumes. Made once for what reads it here, because
-- to plan the view takes longer than to read it
-- parameters: $as_of; $run_id: null for none
create or replace temp table evaluated_sources as
select
  state.*,
  coalesce(state.as_of = $as_of::timestamptz, false) or of_run.source is not null as is_of_run,
from source_state as state
left join (
  select distinct target, source
  from pulls
  where run_id = $run_id and status in ('complete', 'partial')
) as of_run using (target, source);
