-- grain: one row: numbers of the digest. `lifecycle` is no source, and a target that was never pulled has a source without a name
select
  count(*) filter (where digest_state in ('new', 'open')) as current,
  count(*) filter (where digest_state in ('new', 'resolved', 'deleted') or change = 'got worse' or (change = 'got milder' and severity_before = 'critical')) as changed,
  count(digest_state) as told,
  (select count(*) from mail_workspaces where present) as workspaces,
  (select coalesce(list(distinct target order by target), []) from mail_sources) as targets,
  (select count(*) from mail_sources) as sources,
  (select count(*) from mail_sources where not stale) as complete_sources,
  (select count(*) from mail_sources where source is distinct from 'lifecycle') as pulled_sources,
  (select count(*) from mail_sources where source is distinct from 'lifecycle' and stale) as stale_sources,
  (select count(*) from mail_sources where changed) as changed_sources,
from mail_findings;
