-- grain: one row per CA root, the first to expire first
-- title: CA roots
-- sources: ca_roots
-- about: The expiry of an inactive root is no alarm: it signs nothing, and a leaf certificate that it signed does not outlive it.
-- empty: No root is known.
-- labels: root_name=Root; not_before=From; not_after=Until; time_left=Time left; private_key_type=Key; private_key_bits=Bits; serial_number=Serial number
-- strips: time_left=bar
-- legend: bad=expired or expiring; good=valid; soft=inactive; limit=the notice
-- subjects: root_name=CA root:root_id
-- hidden: left_days, active, root_id, serial_number, private_key_bits, private_key_type, not_before
select
  target,
  coalesce(name, root_id) as root_name,
  case
    when active is false then 'inactive'
    when not_after is null then 'unknown'
    when not_after <= $as_of::timestamptz then 'expired'
    when not_after <= $as_of::timestamptz + to_seconds($certificate_days::double * 86400) then 'expiring'
    else 'valid'
  end as state,
  active,
  not_before,
  not_after,
  trunc((epoch(not_after) - epoch($as_of::timestamptz)) / 86400)::bigint as left_days,
  if(
    not_after is null,
    [],
    [
      {
        'kind': case state when 'valid' then 'good' when 'inactive' then 'soft' else 'bad' end,
        'value': least(greatest(left_days, 0), 365), -- a root of many years leaves room for the others
        'text': case
          when not_after > $as_of::timestamptz then format('{:,} {} left', left_days, if(left_days = 1, 'day', 'days'))
          when left_days = 0 then 'expired within the last day'
          else format('expired {:,} {} ago', -left_days, if(left_days = -1, 'day', 'days'))
        end,
      },
      {'kind': 'limit', 'value': $certificate_days::double, 'text': format('notice {:g} days before', $certificate_days::double)},
    ]
  ) as time_left,
  private_key_type,
  private_key_bits,
  serial_number::varchar as serial_number,
  root_id,
from ca_roots_at($as_of)
order by not_after nulls first, root_name, target, root_id;
