-- grain: one row per CA root, without the certificates
-- One root of a mesh is active: where none is said to be, each of them may be. So may one that is named as the active one, and said not to be.
-- Proxies check a certificate and not what is said of it, so its validity counts where it can be read.
with
  certificates as (
    select root_id, max(not_before) as not_before, min(not_after) as not_after
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {kind: 'VARCHAR', root_id: 'VARCHAR', not_before: 'TIMESTAMPTZ', not_after: 'TIMESTAMPTZ'},
      maximum_object_size = $longest_line
    )
    where kind = 'root'
    group by root_id
  ),
  responses as (
    select body."ActiveRootID" as active_id, body."TrustDomain" as trust_domain, unnest(body."Roots") as item
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {body: 'STRUCT("ActiveRootID" VARCHAR, "TrustDomain" VARCHAR, "Roots" JSON[])'},
      maximum_object_size = $longest_line
    )
    where body is not null
  ),
  -- of a root that is there twice, what differs is not known
  compared as (
    select *, min(item::varchar) over same <> max(item::varchar) over same as differs
    from responses
    window same as (partition by item ->> 'ID')
    qualify row_number() over same = 1
  ),
  judged as (
    select
      * replace (if(differs, json_object('ID', item ->> 'ID'), item) as item),
      (item ->> 'ID') = active_id as is_named,
      coalesce(try_cast(item ->> 'Active' as boolean), is_named) as is_said,
      if(differs or (is_named and not is_said), null, is_said) as is_active,
    from compared
  ),
  items as (select *, if(bool_or(is_active) over (), is_active, null) as active from judged)
select
  item ->> 'ID' as root_id,
  item ->> 'Name' as name,
  active,
  coalesce(certificates.not_before, read_time(item ->> 'NotBefore')) as not_before,
  coalesce(certificates.not_after, read_time(item ->> 'NotAfter')) as not_after,
  try_cast(item ->> 'SerialNumber' as ubigint) as serial_number,
  item ->> 'SigningKeyID' as signing_key_id,
  item ->> 'PrivateKeyType' as private_key_type,
  try_cast(item ->> 'PrivateKeyBits' as bigint) as private_key_bits,
  trust_domain,
  item ->> 'ExternalTrustDomain' as external_trust_domain,
  case
    when json_type(item -> 'IntermediateCerts') = 'ARRAY'
      then list_transform((item -> 'IntermediateCerts')::varchar[], lambda certificate: sha256(certificate))
  end as intermediate_digests,
  try_cast(item ->> 'CreateIndex' as ubigint) as create_index,
  try_cast(item ->> 'ModifyIndex' as ubigint) as modify_index,
  json_merge_patch(
    item,
    '{"ID": null, "Name": null, "Active": null, "NotBefore": null, "NotAfter": null, "SerialNumber": null, "SigningKeyID": null, "PrivateKeyType": null, "PrivateKeyBits": null, "ExternalTrustDomain": null, "RootCert": null, "IntermediateCerts": null, "SigningCert": null, "SigningKey": null, "CreateIndex": null, "ModifyIndex": null}'
  ) as extra,
from items
left join certificates on certificates.root_id = (item ->> 'ID')
