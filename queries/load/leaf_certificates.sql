-- grain: one row per configured service, without the certificate and its key
-- Peers check a certificate and not what is said of it, so its validity counts where it can be read.
with
  responses as (
    select *, body as item
    from read_json($files, format = 'newline_delimited', records = true, columns = {
      service: 'VARCHAR',
      asked_namespace: 'VARCHAR',
      fingerprint: 'VARCHAR',
      subject: 'VARCHAR',
      issuer: 'VARCHAR',
      key_type: 'VARCHAR',
      key_bits: 'BIGINT',
      signature_algorithm: 'VARCHAR',
      signer_key_id: 'VARCHAR',
      names: 'VARCHAR',
      not_before: 'TIMESTAMPTZ',
      not_after: 'TIMESTAMPTZ',
      body: 'JSON'
    }, maximum_object_size = $longest_line)
  )
select
  coalesce(nullif(item ->> 'Service', ''), service) as service,
  item ->> 'ServiceURI' as service_uri,
  item ->> 'SerialNumber' as serial_number,
  -- the community edition of the real product names the namespace in the URI only
  coalesce(nullif(item ->> 'Namespace', ''), nullif(regexp_extract(item ->> 'ServiceURI', '/ns/([^/]+)/', 1), ''), asked_namespace, 'default') as namespace,
  try_cast(item ->> 'CreateIndex' as ubigint) as create_index,
  try_cast(item ->> 'ModifyIndex' as ubigint) as modify_index,
  coalesce(not_before, read_time(item ->> 'ValidAfter')) as valid_after,
  coalesce(not_after, read_time(item ->> 'ValidBefore')) as valid_before,
  fingerprint,
  subject,
  issuer,
  key_type,
  key_bits,
  signature_algorithm,
  signer_key_id,
  names,
  json_merge_patch(
    item,
    '{"Service": null, "ServiceURI": null, "SerialNumber": null, "ValidAfter": null, "ValidBefore": null, "CertPEM": null, "PrivateKeyPEM": null, "Namespace": null, "CreateIndex": null, "ModifyIndex": null}'
  ) as extra,
from responses
