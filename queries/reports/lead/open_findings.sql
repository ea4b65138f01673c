-- grain: one row per target, rule and severity, in which the first 50 findings are listed; a critical finding has its own row where its rule has five or fewer
-- title: What is wrong
-- about: By severity, then age. A row combines the findings of a rule. A finding that cannot be assessed now stays open.
with
  guide as (
    select unnest(from_json(
      $guide,
      '[{"rule": "VARCHAR", "many": "VARCHAR", "repair": "VARCHAR", "command": "VARCHAR", "about": "VARCHAR"}]'
    ), recursive := true)
  ),
  open_states as (
    from finding_states_at($as_of, (select previous_as_of from previous_run_at($as_of)))
    where is_open
  ),
  few as (
    select target, rule
    from open_states
    join findings using (finding_id)
    where open_states.severity = 'critical'
    group by target, rule
    having count(*) <= 5
  ),
  current_findings as (
    select
      findings.* exclude (state, severity),
      coalesce(subject_name, subject_id) as subject,
      coalesce(if(findings.opened_at > $as_of::timestamptz, states.opened_at, findings.opened_at), first_seen) as since,
      states.state,
      states.severity,
      states.change,
      unassessed_since <= $as_of::timestamptz as is_unassessed,
      few.rule is not null as is_single,
    from findings
    join open_states as states using (finding_id)
    left join few on few.target = findings.target and few.rule = findings.rule and states.severity = 'critical'
    where list_has_any(from_json($rules, '["VARCHAR"]'), [findings.rule, 'all'])
  ),
  grouped as (
    select
      target,
      rule,
      severity,
      count(*) as findings,
      count(distinct subject) as subjects,
      count(*) filter (change = 'new') as newly,
      count(*) filter (change = 'returned') as returned,
      count(*) filter (change = 'no longer accepted') as unaccepted,
      count(*) filter (change = 'got worse') as worse,
      count(*) filter (is_unassessed) as unassessed,
      min(since) as since,
      any_value(title) as only_title,
      if(
        count(distinct group_key) between 1 and 2 and count(group_key) = count(*),
        ' of ' || string_agg(distinct group_key, ' and ' order by group_key),
        ''
      ) as cause,
      -- the first ones alone are kept in memory
      arg_min(
        {
          'title': title,
          'subject': subject,
          'subject_type': subject_type,
          'subject_id': subject_id,
          'since': strftime(since, '%Y-%m-%dT%H:%M:%SZ'),
          'change': change,
        },
        (change is null, -epoch_us(since), title, finding_id),
        50
      ) as who,
      any_value(subject_type) as subject_type,
      any_value(subject_id) as subject_id,
      any_value(subject) as subject,
      min(finding_id) as finding_id,
    from current_findings
    group by target, rule, severity, if(is_single, finding_id, null)
  )
select
  target,
  severity,
  case
    when findings = 1 then only_title
    when contains(many, '{of}') then format('{:,} {}', findings, replace(many, '{of}', cause))
    else format('{:,} {}{}', findings, coalesce(many, 'findings of ' || rule), if(cause = '', '', ': ' || cause[5:]))
  end as title,
  findings,
  subjects,
  newly,
  returned,
  unassessed,
  nullif(
    concat_ws(
      ', ',
      case when findings = 1 then if(newly = 1, 'new', null) when newly > 0 then format('{:,} new', newly) end,
      case when findings = 1 then if(returned = 1, 'returned', null) when returned > 0 then format('{:,} returned', returned) end,
      case when findings = 1 then if(unaccepted = 1, 'no longer accepted', null) when unaccepted > 0 then format('{:,} no longer accepted', unaccepted) end,
      case when findings = 1 then if(worse = 1, 'got worse', null) when worse > 0 then format('{:,} got worse', worse) end,
      case when findings = 1 then if(unassessed = 1, 'not assessed now', null) when unassessed > 0 then format('{:,} not assessed now', unassessed) end
    ),
    ''
  ) as changes,
  since,
  if(findings = 1, [], who) as who,
  repair,
  command,
  about,
  rule,
  if(findings = 1, subject_type, null) as subject_type,
  if(findings = 1, subject_id, null) as subject_id,
  if(findings = 1, subject, null) as subject,
from grouped
left join guide using (rule)
order by
  list_position(['critical', 'warning', 'info'], severity),
  (newly + returned + unaccepted + worse) = 0,
  since,
  findings desc,
  rule,
  target,
  finding_id;
