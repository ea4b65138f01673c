-- grain: one row per rule whose findings changed since the previous run
-- title: Findings that changed
-- about: Since the previous run. "Deleted": the subject is no longer there, which says nothing about a repair.
-- empty: No finding changed.
-- labels: rule=Rule; changes=Changes
-- hidden: found, reopened, returned, resolved, deleted, worse, milder
with
  changed as (
    select findings.rule, states.*
    from finding_states_at($as_of, (select previous_as_of from previous_run_at($as_of))) as states
    join findings using (finding_id)
    where states.change in ('new', 'returned', 'no longer accepted', 'resolved', 'deleted', 'got worse', 'got milder')
  ),
  counted as (
    select
      rule,
      count(*) filter (change = 'new') as found,
      count(*) filter (change = 'returned') as reopened,
      count(*) filter (change = 'no longer accepted') as returned,
      count(*) filter (change = 'resolved' and was_open) as resolved,
      count(*) filter (change = 'deleted' and was_open) as deleted,
      count(*) filter (change = 'got worse') as worse,
      count(*) filter (change = 'got milder') as milder,
    from changed
    group by rule
  )
select
  rule,
  concat_ws(
    ', ',
    format('{:,} new', nullif(found, 0)),
    format('{:,} returned', nullif(reopened, 0)),
    format('{:,} no longer accepted', nullif(returned, 0)),
    format('{:,} resolved', nullif(resolved, 0)),
    format('{:,} deleted', nullif(deleted, 0)),
    format('{:,} got worse', nullif(worse, 0)),
    format('{:,} got milder', nullif(milder, 0))
  ) as changes,
  found,
  reopened,
  returned,
  resolved,
  deleted,
  worse,
  milder,
from counted
where changes <> ''
order by found desc, resolved desc, rule;
