-- A moment as JSON shows it, in UTC: 2026-11-20T02:15:00.000Z. Temporary, as semver_key.
create or replace temp macro iso_time(moment) as strftime(timezone('UTC', moment), '%Y-%m-%dT%H:%M:%S.%gZ');
