-- grain: one row per table and target with differences: its rows of `changes`, those of plans, and how many things changed in which way
-- A thing that was renamed and changed counts in both.
select
  "table",
  target,
  count(*) as changes,
  count(action) as ours,
  count(distinct key) filter (change = 'new') as "new",
  count(distinct key) filter (change = 'gone') as gone,
  count(distinct key) filter (change = 'back') as back,
  count(distinct key) filter (change = 'renamed') as renamed,
  count(distinct key) filter (change = 'moved') as moved,
  count(distinct key) filter (change = 'changed') as changed,
from difference
group by "table", target
order by "table", target;
