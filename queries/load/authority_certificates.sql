-- grain: one row per certificate that a root of the mesh names; two roots may name the same intermediate, which then is of the active one
-- The certificates' text is in the response alone.
with
  lines as (
    select *
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {
        fingerprint: 'VARCHAR',
        kind: 'VARCHAR',
        root_id: 'VARCHAR',
        subject: 'VARCHAR',
        issuer: 'VARCHAR',
        serial: 'VARCHAR',
        not_before: 'TIMESTAMPTZ',
        not_after: 'TIMESTAMPTZ',
        key_type: 'VARCHAR',
        key_bits: 'BIGINT',
        signature_algorithm: 'VARCHAR',
        key_id: 'VARCHAR',
        signer_key_id: 'VARCHAR',
        names: 'VARCHAR',
        body: 'STRUCT("ActiveRootID" VARCHAR, "Roots" STRUCT("ID" VARCHAR, "Active" VARCHAR)[])'
      },
      maximum_object_size = $longest_line
    )
  ),
  roots as (select body."ActiveRootID" as active_id, unnest(body."Roots") as item from lines where body is not null),
  active as (select distinct item."ID" as root_id from roots where coalesce(try_cast(item."Active" as boolean), item."ID" = active_id))
select
  fingerprint,
  arg_min(kind, row(active.root_id is null, root_id)) as kind,
  arg_min(root_id, row(active.root_id is null, root_id)) as root_id,
  any_value(subject) as subject,
  any_value(issuer) as issuer,
  any_value(serial) as serial,
  any_value(not_before) as not_before,
  any_value(not_after) as not_after,
  any_value(key_type) as key_type,
  any_value(key_bits) as key_bits,
  any_value(signature_algorithm) as signature_algorithm,
  any_value(key_id) as key_id,
  any_value(signer_key_id) as signer_key_id,
  any_value(names) as names,
  null as extra,
from lines
left join active using (root_id)
where fingerprint is not null
group by fingerprint
