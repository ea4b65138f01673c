-- grain: one row per configured service, without the certificate and its key
with
  responses as (
    select service, body as item
    from read_json($files, format = 'newline_delimited', columns = {service: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
  )
select
  coalesce(nullif(item ->> 'Service', ''), service) as service,
  item ->> 'ServiceURI' as service_uri,
  item ->> 'SerialNumber' as serial_number,
  nullif(item ->> 'ValidAfter', '')::timestamptz as valid_after,
  nullif(item ->> 'ValidBefore', '')::timestamptz as valid_before,
  json_merge_patch(
    item,
    '{"Service": null, "ServiceURI": null, "SerialNumber": null, "ValidAfter": null, "ValidBefore": null, "CertPEM": null, "PrivateKeyPEM": null, "Namespace": null, "CreateIndex": null, "ModifyIndex": null}'
  ) as extra,
from responses
