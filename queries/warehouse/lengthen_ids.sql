-- Gives a new finding a longer ID where another one has the same: 12 digits have 48 bits, and whoever names subjects can search for two names.
update transition
set finding_id = 'f-' || left(sha256(to_json([rule, target, subject_id])::varchar), 24)
where
  change in ('baseline', 'found')
  and (
    finding_id in (select finding_id from findings)
    or finding_id in (select finding_id from transition where change in ('baseline', 'found') group by finding_id having count(*) > 1)
  );
