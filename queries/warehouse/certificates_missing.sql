-- grain: no row: a warehouse of an earlier version knows no certificates, and the next run reads them
create or replace temp macro certificates_at(at_time) as table
select
  null::varchar as target, null::varchar as kind, null::varchar as subject, null::varchar as issuer, null::varchar as serial,
  null::timestamptz as not_before, null::timestamptz as not_after, null::varchar as key_type, null::bigint as key_bits,
  null::varchar as signature_algorithm, null::varchar as fingerprint, null::varchar as service, null::varchar as names,
  null::varchar as signed_by, null::varchar as root_id,
where at_time is null and at_time is not null;
