-- grain: one row: what an evaluation changed, and how many findings are open afterwards
select
  count(*) filter (where change = 'baseline') as baseline,
  count(*) filter (where change = 'found') as found,
  count(*) filter (where change = 'reopened') as reopened,
  count(*) filter (where change in ('got worse', 'acceptance ended')) as returned,
  count(*) filter (where change = 'gone') as resolved,
  count(*) filter (where change = 'deleted') as deleted,
  count(*) filter (where state <> 'resolved' and unassessed_since is not null) as unassessed,
  (select count(*) from findings where state in ('new', 'open')) as open,
  (select count(*) from findings where state = 'accepted') as accepted,
from transition;
