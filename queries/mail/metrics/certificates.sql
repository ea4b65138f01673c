-- order: 70
-- report: certificates
-- label: certificates expiring soon or expired
-- one: certificate expiring
-- many: certificates expiring
-- sources: ca_roots, leaf_certificates
-- grain: one row; none where the rules were never assessed for a whole target of the digest
-- A notice far ahead (`info`) is not soon: the report counts the same.
select
  count(*) filter (where digest_state in ('new', 'open') and severity <> 'info') as value,
  if(
    exists (from rule_evaluations where first_assessed_at <= $since::timestamptz and rule in ('ca-root-expiring', 'intermediate-expiring', 'leaf-expiring')),
    count(*) filter (where was_open and severity_before <> 'info'),
    null
  ) as before,
  count(*) filter (where change = 'assessed for the first time' and severity <> 'info') as first_assessed,
  count(*) filter (where was_open and severity_before <> 'info' and change = 'no longer watched') as unwatched,
from (from mail_findings where rule in ('ca-root-expiring', 'intermediate-expiring', 'leaf-expiring'))
having exists (
  from rule_evaluations as assessed
  join mail_routes as routes using (target)
  where routes.project is null and assessed.rule in ('ca-root-expiring', 'intermediate-expiring', 'leaf-expiring')
);
