-- grain: one row: the latest `valid_from` of the warehouse, start of a run, event of a finding or time of a lifecycle fact. What is recorded
-- next must be later, whatever the clock says: the state of a finding is that of its last event, and a fact that of its last import.
select
  greatest(
    (select max(as_of) from pulls),
    (select max(started_at) from runs),
    (select max(changed_at) from finding_events),
    (select max(known_at) from lifecycle_facts)
  ) as latest;
