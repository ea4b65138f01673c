-- grain: one row per CA root, the first to expire first
-- title: CA roots
-- sources: ca_roots
-- about: The expiry of an inactive root is no alarm: it signs nothing, and a leaf certificate that it signed does not outlive it.
-- empty: No root is known.
-- labels: root_name=Root; not_before=From; not_after=Until; left_days=Left (days); private_key_type=Key; private_key_bits=Bits; serial_number=Serial number
-- subjects: root_name=CA root:root_id
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
  date_diff('hour', $as_of::timestamptz, not_after) // 24 as left_days,
  private_key_type,
  private_key_bits,
  serial_number::varchar as serial_number,
  root_id,
from ca_roots_at($as_of)
order by not_after nulls first, root_name, target, root_id;
