-- A time as in JSON, in UTC: 2026-11-20T02:15:00.000Z. {{scope}} as for semver_key.
create or replace {{scope}}macro iso_time(at_time) as strftime(timezone('UTC', at_time), '%Y-%m-%dT%H:%M:%S.%gZ');
