-- grain: one row per subject that has a page: those with the worst open findings first, then those that changed last
-- parameters: $as_of; $limit; $only: JSON list of {type, target, id}, or null for the first $limit subjects
-- A sort goes to disk where it does not fit; a window, and the rules of each subject, would stay in memory.
create or replace temp table subject_pages as
with
  counts as (
    select
      subject_type,
      target,
      subject_id,
      count(*) filter (where state in ('new', 'open') and severity = 'critical') as critical,
      count(*) filter (where state in ('new', 'open') and severity = 'warning') as warning,
      count(*) filter (where state in ('new', 'open') and severity = 'info') as info,
      count(*) filter (where state in ('new', 'open')) as open_findings,
      count(*) filter (where state = 'accepted') as accepted,
      count(*) filter (where state = 'resolved') as resolved,
    from subject_findings
    group by subject_type, target, subject_id
  ),
  wanted as (
    select entry.type, entry.target, entry.id
    from (select unnest(from_json($only, '[{"type": "VARCHAR", "target": "VARCHAR", "id": "VARCHAR"}]')) as entry)
  ),
  chosen as (
    select
      candidates.*,
      coalesce(counts.critical, 0) as critical,
      coalesce(counts.warning, 0) as warning,
      coalesce(counts.open_findings, 0) as open_findings,
      coalesce(counts.accepted, 0) as accepted,
      coalesce(counts.resolved, 0) as resolved,
    from subject_candidates as candidates
    left join counts using (subject_type, target, subject_id)
    left join wanted
      on wanted.type = candidates.subject_type and wanted.target = candidates.target and wanted.id = candidates.subject_id
    where $only::varchar is null or wanted.id is not null
    order by
      coalesce(counts.critical, 0) desc,
      coalesce(counts.warning, 0) desc,
      coalesce(counts.info, 0) desc,
      coalesce(counts.accepted, 0) desc,
      is_present desc,
      candidates.subject_type <> 'project',
      changed_at desc,
      candidates.subject_type,
      candidates.target,
      candidates.subject_id
    limit coalesce(if($only::varchar is null, $limit::bigint, null), json_array_length($only))
  ),
  named as (
    select subject_type, target, subject_id, array_to_string(list_sort(list(distinct rule)), ', ') as rules
    from subject_findings
    semi join chosen using (subject_type, target, subject_id)
    where state <> 'resolved'
    group by subject_type, target, subject_id
  )
select chosen.*, coalesce(named.rules, '') as rules
from chosen
left join named using (subject_type, target, subject_id)
