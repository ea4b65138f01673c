-- grain: one row per event of deadlines.ics: what ended within 30 days, or ends within 400
-- title: The calendar
-- `uid` is the same for as long as its subject has one ID, so that a calendar moves the event instead of adding another
select
  md5(to_json([target, kind, subject_id])::varchar) || '@tidemark' as uid,
  strftime(timezone('UTC', ends_at), '%Y%m%dT%H%M%SZ') as starts,
  strftime(timezone('UTC', $as_of::timestamptz), '%Y%m%dT%H%M%SZ') as stamp,
  format('{} {} ends ({})', kind, coalesce(subject_name, subject_id), coalesce(target, 'no target')) as summary,
  kind,
  what_to_do,
from deadlines_at($as_of)
where ends_at between $as_of::timestamptz - interval 30 days and $as_of::timestamptz + interval 400 days
order by ends_at, kind, subject_name, target, subject_id
limit 5000;
