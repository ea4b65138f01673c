-- rule: The token of a target ends within `tokenDays`.
-- severity: warning
-- worst: critical
-- sources: tokens
-- subject: token
-- many: tokens of targets end soon
-- repair: make a new token and put it where the configuration reads it
-- grain: one row per such target; critical where a day or less is left; a token that does not end, or does not say so, has none
-- parameters: $as_of, $token_days
select
  target,
  target as subject_id,
  coalesce(name, accessor_id, target) as subject_name,
  format(
    'The token of {} {} on {}',
    target,
    case when expires_at <= $as_of::timestamptz then 'ended' else 'ends' end,
    strftime(expires_at, '%Y-%m-%d %H:%M UTC')
  ) as title,
  json_object('accessor_id', accessor_id, 'name', name, 'type', type, 'expires_at', iso_time(expires_at)) as detail,
  case when expires_at <= $as_of::timestamptz + interval 1 day then 'critical' else 'warning' end as severity,
from tokens
where expires_at <= $as_of::timestamptz + to_seconds($token_days * 86400)
