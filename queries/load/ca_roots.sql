-- grain: one row per CA root, without the certificates
with
  responses as (
    select unnest(body."Roots") as item
    from read_json($files, format = 'newline_delimited', columns = {body: 'STRUCT("Roots" JSON[])'}, maximum_object_size = $longest_line)
  )
select
  item ->> 'ID' as root_id,
  item ->> 'Name' as name,
  (item ->> 'Active')::boolean as active,
  nullif(item ->> 'NotBefore', '')::timestamptz as not_before,
  nullif(item ->> 'NotAfter', '')::timestamptz as not_after,
  (item ->> 'SerialNumber')::ubigint as serial_number,
  item ->> 'SigningKeyID' as signing_key_id,
  item ->> 'PrivateKeyType' as private_key_type,
  (item ->> 'PrivateKeyBits')::bigint as private_key_bits,
  json_merge_patch(
    item,
    '{"ID": null, "Name": null, "Active": null, "NotBefore": null, "NotAfter": null, "SerialNumber": null, "SigningKeyID": null, "PrivateKeyType": null, "PrivateKeyBits": null, "ExternalTrustDomain": null, "RootCert": null, "IntermediateCerts": null, "SigningCert": null, "SigningKey": null, "CreateIndex": null, "ModifyIndex": null}'
  ) as extra,
from responses
