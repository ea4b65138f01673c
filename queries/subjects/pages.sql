-- grain: one row per subject that has a page: those with the worst open findings first, then those that changed last
-- parameters: $as_of; $limit; $only: JSON list of {type, target, id}, or null for the first $limit subjects
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
      array_to_string(list_sort(list_distinct(list(rule) filter (where state <> 'resolved'))), ', ') as rules,
    from subject_findings
    group by subject_type, target, subject_id
  ),
  wanted as (
    select entry.type, entry.target, entry.id
    from (select unnest(from_json($only, '[{"type": "VARCHAR", "target": "VARCHAR", "id": "VARCHAR"}]')) as entry)
  ),
  ranked as (
    select
      candidates.*,
      coalesce(counts.critical, 0) as critical,
      coalesce(counts.warning, 0) as warning,
      coalesce(counts.open_findings, 0) as open_findings,
      coalesce(counts.accepted, 0) as accepted,
      coalesce(counts.resolved, 0) as resolved,
      coalesce(counts.rules, '') as rules,
      row_number() over (
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
      ) as place_in_order,
    from subject_candidates as candidates
    left join counts
      on
        counts.subject_type = candidates.subject_type
        and counts.target = candidates.target
        and counts.subject_id = candidates.subject_id
  )
select ranked.*
from ranked
left join wanted
  on wanted.type = ranked.subject_type and wanted.target = ranked.target and wanted.id = ranked.subject_id
where if($only::varchar is null, place_in_order <= $limit, wanted.id is not null)
