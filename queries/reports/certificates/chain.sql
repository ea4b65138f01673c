-- grain: one row per certificate of the authority, each below its signer, and one for leaves whose signer is not shown
-- title: The chain
-- sources: ca_roots, leaf_certificates
-- about: Each certificate below the one that signed it, with the leaf certificates that it signed. A chain ends with the certificate that ends first.
-- empty: No certificate of the authority is known; the next run reads them.
-- labels: certificate=Certificate; time_left=Time left; leaves=Leaf certificates; leaf_count=Number; not_after=Until
-- strips: time_left=bar; leaves=squares
-- legend: bad=expired, or within 7 days or the last tenth; warn=within the notice; good=valid; soft=inactive, replaced or not known
-- hidden: kind, fingerprint, signed_by
with recursive
  known as (
    select
      certificates.*,
      roots.active is not false as is_active,
      idle.target is not null as is_idle,
      if(certificates.kind = 'root', coalesce(roots.name, certificates.subject), certificates.subject) as name,
    from certificates_at($as_of) as certificates
    left join ca_roots_at($as_of) as roots
      on roots.target = certificates.target and roots.root_id = certificates.root_id
    left join idle_intermediates_at($as_of) as idle
      on idle.target = certificates.target and idle.fingerprint = certificates.fingerprint
  ),
  authorities as (from known where kind <> 'leaf'),
  leaves as (
    select
      target,
      signed_by,
      count(*) as leaf_count,
      list(
        {
          'kind': case
            when not_after is null then 'soft'
            when not_after <= $as_of::timestamptz + to_seconds(least(7 * 86400, coalesce(epoch(not_after) - epoch(not_before), 70 * 86400) / 10)) then 'bad'
            when
              epoch(not_after) - epoch(not_before) > $certificate_days::double * 2 * 86400
              and not_after <= $as_of::timestamptz + to_seconds($certificate_days::double * 86400)
              then 'warn'
            else 'good'
          end,
          'value': 1,
          'text': concat_ws(' until ', service, strftime(timezone('UTC', not_after), '%Y-%m-%d %H:%M'))
        }
        order by not_after nulls first, service
      )[:60] as leaves,
    from known
    where kind = 'leaf'
    group by target, signed_by
  ),
  -- Names come from outside: a circle of signers ends where it is as deep as no real chain.
  tree as (
    select target, fingerprint, 0 as depth, [coalesce(name, ''), fingerprint] as path
    from authorities
    where signed_by is null
    union all
    select below.target, below.fingerprint, tree.depth + 1, tree.path || [coalesce(below.name, ''), below.fingerprint]
    from tree
    join authorities as below
      on below.target = tree.target and below.signed_by = tree.fingerprint
    where tree.depth < 8
  ),
  placed as (
    select target, fingerprint, min(depth) as depth, arg_min(path, depth) as path
    from (
      from tree
      union all
      select target, fingerprint, 9, [coalesce(name, ''), fingerprint] from authorities
    ) as places
    group by target, fingerprint
  ),
  lines as (
    select
      authorities.*,
      floor((epoch(not_after) - epoch($as_of::timestamptz)) / 86400)::bigint as time_left_days,
      depth,
      path,
      -- where the leaves were never pulled, nobody knows how many it signed
      coalesce(leaf_count, if(state.as_of is null, null, 0)) as leaf_count,
      leaves,
    from authorities
    join placed using (target, fingerprint)
    left join source_state_at($as_of) as state
      on state.target = authorities.target and state.source = 'leaf_certificates'
    left join leaves
      on leaves.target = authorities.target and leaves.signed_by = authorities.fingerprint
    union all by name
    select target, 'the signer is not shown' as name, true as is_active, 0 as depth, [chr(1114111)] as path, leaf_count, leaves
    from leaves
    where signed_by is null
  )
select
  target,
  -- Two no-break spaces for each signer above it.
  repeat(chr(160) || chr(160), if(depth = 9, 0, depth)::integer) || if(depth between 1 and 8, '└ ', '') || coalesce(name, fingerprint) as certificate,
  kind,
  not_after,
  if(
    not_after is null,
    [],
    [
      {
        'kind': case
          when not is_active or is_idle then 'soft'
          when not_after <= $as_of::timestamptz + interval 7 days then 'bad'
          when not_after <= $as_of::timestamptz + to_seconds($certificate_days::double * 86400) then 'warn'
          else 'good'
        end,
        'value': least(greatest(epoch(not_after) - epoch($as_of::timestamptz), 0) / 86400, 365)::double,
        'text': if(
          not_after <= $as_of::timestamptz,
          'expired',
          format('{:,} {} left', time_left_days, if(time_left_days = 1, 'day', 'days'))
        )
      }
    ]
  ) as time_left,
  coalesce(leaves, []) as leaves,
  leaf_count,
  fingerprint,
  signed_by,
from lines
order by target, path;
