-- grain: one row
-- title: Certificates
-- order: 8
-- rules: ca-root-expiring, intermediate-expiring, leaf-expiring, leaf-from-old-root, several-active-roots, signer-not-shown, weak-certificate-key
-- unknown: expiry_unknown, unknown_parts
-- sources: ca_roots, leaf_certificates
-- about: The root certificates of the mesh and the leaf certificates of its services, by expiry. An inactive root signs nothing, so its expiry is no alarm. A short-lived leaf certificate counts as expiring in the last tenth of its lifetime, because it is renewed continuously.
with
  comparable as (
    select coalesce(bool_and(previous_as_of is not null), false) as yes
    from source_state_at($as_of)
    where source in ('ca_roots', 'leaf_certificates') and as_of is not null
  ),
  -- what was never pulled has no number
  pulled as (select coalesce(list(distinct source), []) as pulled from source_state_at($as_of) where as_of is not null),
  root_counts as (
    select
      count(*) as roots,
      count(*) filter (active) as active_roots,
      count(*) filter (not active) as inactive_roots,
      count_known(
        active is not false
        and not_after > $as_of::timestamptz
        and not_after <= $as_of::timestamptz + to_seconds($certificate_days::double * 86400)
      ) as roots_expiring,
      count_known(active is not false and not_after <= $as_of::timestamptz) as roots_expired,
      count(*) filter (active is not false and not_after is null) as roots_unknown,
      min(not_after) filter (active) as active_root_ends_at,
    from ca_roots_at($as_of)
  ),
  leaf_counts as (
    select
      count(*) as leaves,
      count_known(
        valid_before > $as_of::timestamptz
        and valid_before <= $as_of::timestamptz + leaf_notice(valid_after, valid_before, $certificate_days)
      ) as leaves_expiring,
      count_known(valid_before <= $as_of::timestamptz) as leaves_expired,
      count(*) filter (valid_before is null) as leaves_unknown,
      min(valid_before) as first_leaf_ends_at,
    from leaf_certificates_at($as_of)
  ),
  intermediate_counts as (
    select
      count(*) as intermediates,
      count_known(
        certificates.not_after <= $as_of::timestamptz + to_seconds($certificate_days::double * 86400)
      ) as intermediates_expiring,
      count(*) filter (certificates.not_after is null) as intermediates_unknown,
    from certificates_at($as_of) as certificates
    anti join idle_intermediates_at($as_of) as idle
      on idle.target = certificates.target and idle.fingerprint = certificates.fingerprint
    left join ca_roots_at($as_of) as roots
      on roots.target = certificates.target and roots.root_id = certificates.root_id
    where kind = 'intermediate' and roots.active is not false
  ),
  counted as (
    select
      root_counts.*,
      intermediate_counts.*,
      leaf_counts.*,
      coalesce(roots_unknown + intermediates_unknown, 0) + coalesce(leaves_unknown, 0) as expiry_unknown,
      case when comparable.yes and 'ca_roots' in pulled then (select count(*) from ca_roots_before($as_of)) end as roots_before,
      case when comparable.yes and 'leaf_certificates' in pulled then (select count(*) from leaf_certificates_before($as_of)) end as leaves_before,
      not comparable.yes as baseline,
      (select count(*) from unknown_parts_at($as_of) where not is_unsupported and source in ('ca_roots', 'leaf_certificates')) as unknown_parts,
      (
        select count(*)
        from finding_states_at($as_of, null) as states
        join findings using (finding_id)
        where states.is_open and findings.rule = 'leaf-from-old-root'
      ) as of_old_roots,
      coalesce(roots_expiring + roots_expired, 0) + coalesce(intermediates_expiring, 0) + coalesce(leaves_expiring + leaves_expired, 0) as ending,
    from comparable
    cross join pulled
    left join root_counts on 'ca_roots' in pulled
    left join intermediate_counts on 'ca_roots' in pulled
    left join leaf_counts on 'leaf_certificates' in pulled
  )
select
  * exclude (ending),
  case
    when ending = 0 then 'None of '
      || concat_ws(
        ' and ',
        format(
          '{:,} active {}{}{:,} {}',
          roots - inactive_roots, if(roots - inactive_roots = 1, 'root', 'roots'),
          if(leaves is null, ' and ', ', '),
          intermediates, if(intermediates = 1, 'intermediate', 'intermediates')
        ),
        format('{:,} leaf {}', leaves, if(leaves = 1, 'certificate', 'certificates'))
      )
      || ' is known to expire soon'
    else concat_ws(
      ', ',
      if(roots_expiring + roots_expired > 0, format('{:,} of {:,} active {}', roots_expiring + roots_expired, roots - inactive_roots, if(roots - inactive_roots = 1, 'root', 'roots')), null),
      if(intermediates_expiring > 0, format('{:,} of {:,} {}', intermediates_expiring, intermediates, if(intermediates = 1, 'intermediate', 'intermediates')), null),
      if(leaves_expiring + leaves_expired > 0, format('{:,} of {:,} leaf {}', leaves_expiring + leaves_expired, leaves, if(leaves = 1, 'certificate', 'certificates')), null)
    )
    || if(ending = 1, ' expires soon or has expired', ' expire soon or have expired')
  end
  || case of_old_roots when 0 then '' when 1 then '; 1 service keeps a certificate of an old root' else format('; {:,} services keep a certificate of an old root', of_old_roots) end
  || if(roots is null, '; the CA roots are not known', '')
  || if(leaves is null, '; the leaf certificates are not known', '')
  || case unknown_parts when 0 then '' when 1 then ', 1 part is not known' else format(', {:,} parts are not known', unknown_parts) end as headline,
from counted;
