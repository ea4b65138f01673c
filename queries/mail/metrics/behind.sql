-- order: 40
-- report: version-sprawl
-- label: workspaces behind the newest version in use
-- sources: workspaces, tf_versions
-- grain: one row; none where the version of no workspace is known
-- parameters: $as_of; $since
with
  newest as (
    select max(semver_key(version)) filter (where ends_with(semver_key(version), '~')) as key
    from stored_versions_at('tf_versions', $as_of)
    where target in (select target from mail_routes)
  ),
  newest_before as (
    select max(semver_key(version)) filter (where ends_with(semver_key(version), '~')) as key
    from stored_versions_at('tf_versions', $since)
    where target in (select target from mail_routes) and history_reaches($since::timestamptz)
  )
select
  count(*) filter (where present and semver_key(mine.version) < newest.key) as value,
  if(
    bool_or(mine.comparable) and any_value(newest_before.key) is not null,
    count(*) filter (where was_present and semver_key(mine.version_before) < newest_before.key),
    null
  ) as before,
  if(
    $since is null,
    null,
    count(*) filter (where present and not mine.comparable and semver_key(mine.version) < newest.key)
  ) as first_assessed,
from mail_workspaces as mine, newest, newest_before
having count(semver_key(mine.version)) > 0 and any_value(newest.key) is not null;
