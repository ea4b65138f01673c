-- rule: A certificate has a key or a signature that is too weak.
-- severity: warning
-- sources: leaf_certificates, ca_roots
-- subject: certificate
-- many: certificates have a weak key or signature
-- repair: issue them again with a stronger key; ask who runs the mesh
-- grain: one row per such certificate; unknown where its key or its signature is not known
-- NIST SP 800-57 part 1, table 2: less than 112 bits of strength. The signature of a root, which is trusted as it is, proves nothing.
with
  judged as (
    select
      *,
      coalesce(service, fingerprint) as id,
      case
        when key_type is null then null
        when key_type in ('rsa', 'rsa-pss', 'dsa') then key_bits < 2048
        when key_type = 'ec' then key_bits < 224
        else false
      end as has_weak_key,
      case
        when kind = 'root' then false
        -- a number alone, or RSASSA-PSS without its hash, does not tell its strength
        when not regexp_full_match(signature_algorithm, '[\d.]+|rsassaPss') then regexp_matches(signature_algorithm, 'md5|sha1', 'i')
      end as has_weak_signature,
    from certificates
  )
select
  target,
  id as subject_id,
  coalesce(service, subject, fingerprint) as subject_name,
  case
    when has_weak_key then format('The {} certificate of {} has a key of {} bits ({})', kind, coalesce(service, subject), key_bits, key_type)
    when has_weak_signature then format('The {} certificate of {} is signed with {}', kind, coalesce(service, subject), signature_algorithm)
    else 'its key or its signature is not known'
  end as title,
  json_object(
    'fingerprint', fingerprint,
    'service', service,
    'kind', kind,
    'key_type', key_type,
    'key_bits', key_bits,
    'signature_algorithm', signature_algorithm
  ) as detail,
  (has_weak_key or has_weak_signature) is null as unknown,
from judged
where (has_weak_key or has_weak_signature) is not false
