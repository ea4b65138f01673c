-- rule: An intermediate certificate of an active CA root expires within three times `certificateDays`, or has expired.
-- severity: info
-- worst: critical
-- sources: ca_roots
-- subject: certificate
-- many: intermediate certificates expire soon or have expired
-- repair: renew the intermediate at its authority; ask who runs the mesh
-- grain: one row per such intermediate that a leaf may need; a warning within `certificateDays`, critical within 7 days; unknown
-- where its expiry is not reported, and where a root shows no such intermediate, and names the key of one
-- parameters: $as_of, $certificate_days
-- A root cannot sign leaf certificates through an intermediate that has expired, however long the root is valid. Consul 1.10 does not show
-- the intermediate of Vault: `signing_key_id` alone tells that there is one (docs/services/mesh.md#ca-roots).
with
  intermediates as (
    select *
    from certificates
    anti join idle_intermediates_at('infinity'::timestamptz) using (target, fingerprint)
    where kind = 'intermediate'
  )
select
  target,
  fingerprint as subject_id,
  coalesce(subject, fingerprint) as subject_name,
  case
    when intermediates.not_after is null then 'its expiry is not reported'
    else format(
      'Intermediate certificate {} of root {} {} on {}',
      subject,
      coalesce(ca_roots.name, root_id),
      case when intermediates.not_after <= $as_of::timestamptz then 'expired' else 'expires' end,
      strftime(intermediates.not_after, '%Y-%m-%d %H:%M UTC')
    )
  end as title,
  json_object(
    'fingerprint', fingerprint,
    'root_id', root_id,
    'subject', subject,
    'serial', serial,
    'not_after', iso_time(intermediates.not_after)
  ) as detail,
  coalesce(authority_severity(intermediates.not_after, $as_of, $certificate_days), 'info') as severity,
  intermediates.not_after is null as unknown,
from intermediates
left join ca_roots using (target, root_id)
where
  active is not false
  and (intermediates.not_after is null or authority_severity(intermediates.not_after, $as_of, $certificate_days) is not null)
union all
select
  target, null, null, format('root {} signs with a key whose certificate the mesh does not show', min(coalesce(name, root_id))), '{}'::json,
  null, true,
from ca_roots
where
  active is not false
  and signing_key_id <> ''
  and (target, root_id) not in (select (target, root_id) from intermediates)
  and not exists (
    from authority_certificates as shown
    where shown.target = ca_roots.target and shown.key_id = lower(replace(signing_key_id, ':', ''))
  )
group by target
