-- grain: one row per finding that this evaluation touches, as it is afterwards; change: the event to record, if any; is_same: only `last_seen` differs
-- Reads subject_candidates, the subjects that were ever seen.
-- Unknown is never reported as clean: only an assessed rule that neither returns a subject nor calls it unknown resolves a finding. What
-- the configuration leaves out ends as well, with a reason of its own.
create or replace temp table transition as
with
  ranks as (select * from (values ('info', 1), ('warning', 2), ('critical', 3)) as levels (severity, rank)),
  seen as (
    select
      candidates.* replace (
        coalesce(candidates.severity, evaluated_rules.severity) as severity,
        coalesce(candidates.subject_type, evaluated_rules.subject) as subject_type,
        one_line(candidates.title) as title,
        coalesce(candidates.unknown, false) as unknown
      ),
      ranks.rank,
    from candidates
    join evaluated_rules using (rule)
    join ranks on ranks.severity = coalesce(candidates.severity, evaluated_rules.severity)
    where subject_id is not null
  ),
  -- rules that need what the configuration leaves out of a target
  left_out as (
    select target, source
    from pulls
    group by target, source
    having arg_max(status, as_of) = 'left-out'
  ),
  not_watched as (
    select rule, left_out.target
    from evaluated_rules
    join left_out on list_contains(evaluated_rules.sources, left_out.source)
    union
    -- what a rule reads elsewhere, and no target has any more
    select evaluated_rules.rule, findings.target
    from findings
    join evaluated_rules using (rule)
    join (select distinct source from left_out anti join evaluated_sources using (source)) as gone
      on list_contains(evaluated_rules.elsewhere, gone.source)
    union
    select rule, target
    from evaluated_rules
    cross join (from left_out anti join evaluated_sources using (target)) as gone
  ),
  known as (
    select findings.*, ranks.rank as accepted_rank
    from findings
    left join ranks on ranks.severity = findings.accepted_severity
  ),
  matched as (
    select
      known,
      seen,
      coalesce(known.rule, seen.rule) as rule,
      coalesce(known.target, seen.target) as target,
      coalesce(known.subject_id, seen.subject_id) as subject_id,
    from known
    full join seen using (rule, target, subject_id)
  ),
  judged as (
    select
      matched.*,
      coalesce(assessed.baseline, false) as baseline,
      -- what an interrupted run found is new until a run reports it
      interrupted.started_at is null or coalesce(interrupted.reported_at < $as_of::timestamptz, false) as reported,
      case
        when assessed.assessed and doubtful.cut is not null then 'unsure'
        when assessed.assessed and not matched.seen.unknown then 'found'
        when assessed.assessed and matched.seen.unknown then 'unsure'
        when assessed.assessed and doubtful.doubt is not null then 'unsure'
        when assessed.assessed and deleted.subject_id is not null then 'deleted'
        when assessed.assessed then 'gone'
        when assessed.tried then 'unsure'
        when not_watched.rule is not null then 'left out'
        else 'untouched'
      end as verdict,
      case
        when not assessed.assessed then assessed.why
        when doubtful.cut is not null then doubtful.cut
        when matched.seen.unknown then matched.seen.title
        else doubtful.doubt
      end as why,
    from matched
    left join assessments as assessed using (rule, target)
    left join not_watched using (rule, target)
    left join doubtful_subjects as doubtful using (rule, target, subject_id)
    left join interrupted_runs as interrupted on interrupted.started_at = matched.known.state_since
    left join (from subject_candidates where not is_present) as deleted
      on deleted.subject_type = matched.known.subject_type
      and deleted.target = matched.target
      -- a finding about a part of a workspace names the workspace
      and deleted.subject_id = coalesce(if(matched.known.subject_type = 'workspace', matched.known.detail ->> 'workspace_id', null), matched.subject_id)
  ),
  changed as (
    select
      *,
      case
        when known.state is null and verdict = 'found' then if(baseline, 'baseline', 'found')
        when known.state <> 'resolved' and verdict in ('gone', 'deleted', 'left out') then verdict
        when known.state = 'resolved' and verdict = 'found' then 'reopened'
        when known.state = 'accepted' and verdict = 'found' and seen.rank > known.accepted_rank then 'got worse'
        when known.state = 'accepted' and verdict = 'found' and seen.weight > known.accepted_weight then 'got worse'
        when known.state = 'accepted' and known.accepted_until <= $as_of::timestamptz then 'acceptance ended'
        when known.state = 'new' and reported and known.state_since < $as_of::timestamptz and verdict <> 'untouched' then 'no longer new'
        when known.state <> 'resolved' and verdict = 'found' and seen.severity <> known.severity then 'severity changed'
      end as change,
    from judged
  )
select
  coalesce(known.finding_id, 'f-' || left(sha256(to_json([rule, target, subject_id])::varchar), 12)) as finding_id,
  target,
  rule,
  if(verdict = 'found', seen.severity, known.severity) as severity,
  if(verdict = 'found', seen.subject_type, known.subject_type) as subject_type,
  subject_id,
  if(verdict = 'found', seen.subject_name, known.subject_name) as subject_name,
  if(verdict = 'found', seen.title, known.title) as title,
  case verdict
    when 'found' then seen.detail
    when 'unsure' then json_merge_patch(coalesce(known.detail, '{}'), json_object('unassessed', why))
    when 'gone' then json_merge_patch(coalesce(known.detail, '{}'), '{"unassessed": null}')
    when 'deleted' then json_merge_patch(coalesce(known.detail, '{}'), '{"unassessed": null}')
    when 'left out' then json_merge_patch(coalesce(known.detail, '{}'), '{"unassessed": null}')
    else known.detail
  end as detail,
  case
    when change in ('gone', 'deleted', 'left out') then 'resolved'
    when change in ('found', 'reopened', 'got worse', 'acceptance ended') then 'new'
    when change in ('baseline', 'no longer new') then 'open'
    else known.state
  end as state,
  coalesce(known.first_seen, $as_of::timestamptz) as first_seen,
  if(verdict = 'found', $as_of::timestamptz, known.last_seen) as last_seen,
  case
    when change in ('gone', 'deleted', 'left out') then $as_of::timestamptz
    when change = 'reopened' then null
    else known.resolved_at
  end as resolved_at,
  coalesce(known.times_reopened, 0) + if(change = 'reopened', 1, 0) as times_reopened,
  if(change in ('baseline', 'found', 'reopened'), $as_of::timestamptz, known.opened_at) as opened_at,
  if(change is null or change = 'severity changed', known.state_since, $as_of::timestamptz) as state_since,
  if(verdict = 'found', seen.group_key, known.group_key) as group_key,
  if(verdict = 'found', seen.weight, known.weight) as weight,
  case
    when verdict = 'unsure' then coalesce(known.unassessed_since, $as_of::timestamptz)
    when verdict = 'untouched' then known.unassessed_since
  end as unassessed_since,
  if(change in ('gone', 'deleted', 'left out'), null, known.accepted_at) as accepted_at,
  if(change in ('gone', 'deleted', 'left out'), null, known.accepted_until) as accepted_until,
  if(change in ('gone', 'deleted', 'left out'), null, known.accepted_reason) as accepted_reason,
  if(change in ('gone', 'deleted', 'left out'), null, known.accepted_owner) as accepted_owner,
  if(change in ('gone', 'deleted', 'left out'), null, known.accepted_severity) as accepted_severity,
  if(change in ('gone', 'deleted', 'left out'), null, known.accepted_weight) as accepted_weight,
  change,
  change is null
  and row(subject_type, subject_name, title, detail, group_key, weight, unassessed_since) is not distinct from
    row(known.subject_type, known.subject_name, known.title, known.detail, known.group_key, known.weight, known.unassessed_since)
    as is_same,
from changed
where
  (verdict = 'found' and (known.state is null or known.state = 'resolved'))
  or (known.state <> 'resolved' and (verdict <> 'untouched' or change is not null));
