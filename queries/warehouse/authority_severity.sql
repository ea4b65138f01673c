-- How bad it is that a certificate of an authority ends at a time: critical within 7 days, a warning within the days of notice, and info within three times as many;
-- null before. {{scope}} as for semver_key.
create or replace {{scope}}macro authority_severity(ends_at, at_time, notice_days) as case
  when ends_at <= at_time::timestamptz + to_seconds(least(7, notice_days) * 86400) then 'critical'
  when ends_at <= at_time::timestamptz + to_seconds(notice_days * 86400) then 'warning'
  when ends_at <= at_time::timestamptz + to_seconds(notice_days * 3 * 86400) then 'info'
end;
