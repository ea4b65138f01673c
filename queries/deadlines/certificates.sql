-- deadline: Certificates of the mesh that people renew.
-- grain: one row per active CA root, intermediate of one that a leaf may need, and leaf certificate; a leaf of a short life only in its
-- last tenth: it should have been renewed by then
-- parameters: $as_of, $certificate_days
select
  target,
  'CA root' as kind,
  root_id as subject_id,
  coalesce(name, root_id) as subject_name,
  not_after as ends_at,
  'rotate the root in the mesh' as what_to_do,
from ca_roots_at($as_of)
where active is not false
union all
select
  certificates.target,
  'certificate',
  certificates.fingerprint,
  coalesce(certificates.subject, certificates.fingerprint),
  certificates.not_after,
  'renew the intermediate certificate of the mesh',
from certificates_at($as_of) as certificates
anti join idle_intermediates_at($as_of) as idle
  on idle.target = certificates.target and idle.fingerprint = certificates.fingerprint
left join ca_roots_at($as_of) as roots
  on roots.target = certificates.target and roots.root_id = certificates.root_id
where certificates.kind = 'intermediate' and roots.active is not false
union all
select
  target,
  'leaf certificate',
  case when coalesce(namespace, 'default') = 'default' then service else format('{}/{}', namespace, service) end,
  service,
  valid_before,
  'find out why the proxy of the service did not renew it',
from leaf_certificates_at($as_of)
where
  valid_before is null
  or valid_after is null
  or valid_before - valid_after > to_seconds($certificate_days * 2 * 86400)
  or valid_before - to_seconds((epoch(valid_before) - epoch(valid_after)) / 10) <= $as_of::timestamptz;
