-- A moment as JSON shows it, in UTC: 2026-11-20T02:15:00.000Z. {{kind}} as for semver_key.
create or replace {{kind}} iso_time(moment) as strftime(timezone('UTC', moment), '%Y-%m-%dT%H:%M:%S.%gZ');
