-- grain: one row: the latest `valid_from` of the warehouse, start of a run or event of a finding. What is recorded next must be later, whatever
-- the clock says: the state of a finding is that of its last event.
select
  greatest(
    (select max(as_of) from pulls),
    (select max(started_at) from runs),
    (select max(changed_at) from finding_events)
  ) as latest;
