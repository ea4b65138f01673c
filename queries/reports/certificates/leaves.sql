-- grain: one row per service, the first to expire first
-- title: Leaf certificates
-- sources: leaf_certificates
-- empty: No leaf certificate is known.
-- labels: service=Service; valid_after=From; valid_before=Until; time_left=Time left; lifetime_hours=Lifetime (hours); service_uri=URI; serial_number=Serial number
-- strips: time_left=bar
-- legend: bad=expired or expiring; good=valid
-- subjects: service=leaf certificate
-- hidden: left_hours, service_uri, serial_number, lifetime_hours
select
  target,
  service,
  case
    when valid_before is null then 'unknown'
    when valid_before <= $as_of::timestamptz then 'expired'
    when valid_before <= $as_of::timestamptz + leaf_notice(valid_after, valid_before, $certificate_days) then 'expiring'
    else 'valid'
  end as state,
  valid_after,
  valid_before,
  round(epoch(valid_before - $as_of::timestamptz) / 3600, 1) as left_hours,
  round(epoch(valid_before - valid_after) / 3600, 1) as lifetime_hours,
  if(
    valid_before is null,
    [],
    [
      {
        'kind': if(state = 'valid', 'good', 'bad'),
        'value': least(greatest(left_hours, 0), 90 * 24),
        'text': case
          when left_hours < 0 then format('expired {:,} {} ago', round(-left_hours)::bigint, if(round(-left_hours) = 1, 'hour', 'hours'))
          when left_hours < 96 then format('{} {} left', round(left_hours)::bigint, if(round(left_hours) = 1, 'hour', 'hours'))
          else format('{:,} days left', round(left_hours)::bigint // 24)
        end,
      },
    ]
  ) as time_left,
  service_uri,
  serial_number,
from leaf_certificates_at($as_of)
order by valid_before nulls first, service, target;
