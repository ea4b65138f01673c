-- grain: one row per section and line, worst first, of a severity what is new or got worse first; the first $max_rows of each section
-- parameters: $max_rows; $guide: JSON list of what is said of the findings of each rule
-- Sections: `critical` (new or open), each by name; `new`, `resolved`, `deleted`, `open`. Findings of several subjects with one cause form a
-- line, and so do more than five of a rule. The other findings form a line for each subject, as do all those of a workspace that is new since the previous digest.
with
  new_workspaces as (
    select distinct target, workspace_name, true as is_new_workspace
    from mail_workspaces
    where present and comparable and not was_present
  ),
  placed as (
    select
      mail_findings.*,
      if(digest_state in ('new', 'open') and severity = 'critical', 'critical', digest_state) as section,
      -- a note about a provider of a workspace has its own subject ID
      if(subject_type = 'workspace', coalesce(subject_name, subject_id), subject_id) as subject,
      digest_state = 'new' and subject_type = 'workspace' and coalesce(is_new_workspace, false) as is_new_subject,
    from mail_findings
    left join new_workspaces
      on new_workspaces.target = mail_findings.target and new_workspaces.workspace_name = mail_findings.subject_name
    where digest_state is not null
  ),
  shared as (
    select
      * exclude (group_key),
      coalesce(group_key, if(count(*) over (partition by section, target, rule) > 5, '', null)) as group_key,
      section <> 'critical'
      and (group_key is not null or count(*) over (partition by section, target, rule) > 5)
      and not is_new_subject
      and min(subject) over cause <> max(subject) over cause as is_cause,
    from placed
    window cause as (partition by section, target, rule, group_key, is_new_subject)
  ),
  lines as (
    select
      section,
      target,
      is_cause,
      if(is_cause, rule, subject_type) as scope,
      if(is_cause, group_key, subject) as line,
      any_value(if(is_cause, group_key, null)) as group_key,
      any_value(subject_type) as subject_type,
      any_value(is_new_subject) as is_new_subject,
      count(*) as size,
      count(*) filter (where digest_state = 'new') as new_findings,
      count(*) filter (where change = 'got worse') as worse,
      any_value(severity_before) filter (change = 'got worse') as was_severity,
      max(rank) as rank,
      arg_max(severity, rank) as severity,
      list(distinct rule).list_sort() as rules,
      arg_max(title, row(rank, finding_id)) as title,
      arg_max(rule, row(rank, finding_id)) as rule,
      min(opened_at) as opened_at,
      max(times_reopened) as times_reopened,
      count(*) filter (where times_reopened > 0) as reopened,
      count(*) filter (where unassessed_since is not null) as unassessed,
      -- the first ones alone are kept in memory
      arg_min(
        {'subject_id': subject_id, 'subject_name': subject_name, 'detail': detail},
        (-rank, subject_name, subject_id),
        3
      ) as subjects,
    from shared
    group by all
  ),
  guide as (
    select unnest(from_json(
      $guide,
      '[{"rule": "VARCHAR", "many": "VARCHAR", "repair": "VARCHAR", "command": "VARCHAR", "about": "VARCHAR"}]'
    ), recursive := true)
  ),
  told as (
    select
      *,
      section in ('resolved', 'deleted') as is_over,
      section = 'critical' and new_findings = size as is_new_critical,
      new_findings + worse > 0 as is_news,
      strftime(opened_at, '%Y-%m-%d') as opened_on,
      if(length(group_key) > 100, left(group_key, 99) || '…', coalesce(group_key, '')) as cause,
    from lines
  )
select
  section,
  target,
  subject_type,
  subjects,
  is_cause,
  size,
  if(is_over, section, severity) as badge,
  case
    when not is_cause then title
    when many is null
      then concat(format('{:,}', size), ' ', subject_type, 's', if(cause = '', '', ' of ' || cause))
    else concat(
      format('{:,}', size),
      ' ',
      replace(many, '{of}', if(cause = '', '', ' of ' || cause)),
      if(contains(many, '{of}') or cause = '', '', ': ' || cause)
    )
  end as title,
  case
    when not is_cause and size > 1 then format(', and {:,} more {}', size - 1, if(size = 2, 'finding', 'findings'))
    else ''
  end as more,
  concat(target, ': ', array_to_string(rules[:4], ', '), if(len(rules) > 4, format(' and {} more', len(rules) - 4), '')) as location,
  if(is_over, concat('was ', severity, ', open '), if(is_new_critical, 'new, ', '')) || 'since ' || opened_on as since,
  concat(
    if(is_new_subject, ', new ' || subject_type, ''),
    if(section = 'critical' and new_findings > 0 and not is_new_critical, format(', {:,} new', new_findings), ''),
    case
      when worse = 0 then ''
      when size > 1 then format(', {:,} got worse', worse)
      else ', got worse: was ' || was_severity
    end,
    case
      when reopened = 0 then ''
      when size > 1 then format(', {:,} returned', reopened)
      else ', returned ' || if(times_reopened = 1, 'once', format('{:,} times', times_reopened))
    end,
    case
      when unassessed = 0 then ''
      when unassessed < size then format(', {:,} not assessed by the last pull', unassessed)
      else ', not assessed by the last pull'
    end
  ) as notes,
  if(is_over, '', coalesce(about, repair, '')) as step,
  if(is_over, '', coalesce(command, '')) as command,
  count(*) over (partition by section) as lines,
  sum(size) over (partition by section)::bigint as findings,
from told
left join guide using (rule)
qualify row_number() over (partition by section order by rank desc, is_news desc, size desc, opened_at, target, scope, told.title, line) <= $max_rows
order by section, rank desc, is_news desc, size desc, opened_at, target, scope, told.title, line;
