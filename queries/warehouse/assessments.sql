-- grain: one row per rule and target that it concerns
-- assessed: every source of the rule is loaded, one is of the run as of $as_of, none is older than the rule permits, and its listings
-- prove what the rule concludes, and every column that it needs is told; findings it does not return are then resolved. What it reads of other targets is loaded as well. A rule
-- concerns no target where nobody has what it reads elsewhere.
-- parts: why parts of a source are not assessed, which `transition` leaves out; null where every part is
-- tried: every source was tried in that time; why: why it is not assessed; baseline: nothing was assessed before.
-- parameters: $as_of
create or replace temp table assessments as
with
  needed as (
    select
      rule,
      error,
      proves,
      columns,
      to_seconds(within_minutes * 60) as tolerance,
      len(sources) as wanted,
      len(elsewhere) as needed_elsewhere,
      unnest(sources) as source,
    from evaluated_rules
  ),
  state as (
    select * replace (if(is_of_run, $as_of::timestamptz, tried_at) as tried_at, if(is_of_run, $as_of::timestamptz, as_of) as as_of),
    from evaluated_sources
  ),
  needs as (
    select
      needed.*,
      state.target,
      state.tried_at >= $as_of::timestamptz - needed.tolerance as is_tried,
      state.is_of_run,
      list_filter(json_keys(state.unknown_columns), lambda name: list_contains(needed.columns, name)) as unknown,
      case
        when state.status = 'unsupported' then state.error
        when state.status not in ('complete', 'partial') then format('source {} is {}', source, state.status)
        when state.as_of < $as_of::timestamptz - needed.tolerance then format('source {} is not part of this run', source)
        when list_contains(needed.proves, source) and not proofs.proven then proofs.why
        when len(unknown) > 0
          then array_to_string(list_distinct(list_transform(unknown, lambda name: state.unknown_columns ->> name)), ', ')
      end as problem,
    from needed
    join state using (source)
    left join listing_proofs as proofs using (target, source)
  ),
  -- what a rule reads of other targets: a source that one of them could not be asked for is missing for all
  elsewhere as (
    select
      needed.rule,
      count(distinct state.source) as found,
      bool_and(state.tried_at >= $as_of::timestamptz - needed.tolerance) as is_tried,
      string_agg(
        distinct case
          when state.status not in ('complete', 'partial') then format('source {} of {} is {}', source, state.target, state.status)
          when state.as_of < $as_of::timestamptz - needed.tolerance
            then format('source {} of {} is not part of this run', source, state.target)
        end,
        ', '
      ) as problem,
    from (
      select rule, to_seconds(within_minutes * 60) as tolerance, unnest(elsewhere) as source
      from evaluated_rules
    ) as needed
    join state using (source)
    group by needed.rule
  ),
  by_sources as (
    select
      rule,
      target,
      any_value(error) is null and bool_or(is_of_run) and count(needs.problem) = 0 and count(elsewhere.problem) = 0 as assessed,
      bool_and(needs.is_tried)
      and coalesce(any_value(elsewhere.is_tried), true)
      and (bool_or(is_of_run) or bool_or(needs.problem is not null)) as tried,
      coalesce(
        any_value(error),
        nullif(
          concat_ws(', ', string_agg(distinct needs.problem, ', ' order by needs.problem), any_value(elsewhere.problem)),
          ''
        )
      ) as why,
    from needs
    left join elsewhere using (rule)
    group by rule, wanted, needed_elsewhere, target
    having count(*) = wanted and coalesce(any_value(elsewhere.found), 0) = needed_elsewhere
  ),
  by_log as (
    select evaluated_rules.rule, targets.target, evaluated_rules.error is null as assessed, true as tried, evaluated_rules.error as why
    from evaluated_rules
    cross join (select distinct target from evaluated_sources) as targets
    where len(evaluated_rules.sources) = 0
  ),
  cut as (
    select rule, target, string_agg(distinct reason, ', ' order by reason) as parts
    from rule_parts
    where not is_unsupported
    group by rule, target
  ),
  -- an unknown row without a subject and with an empty detail: the rule cannot assess the target at all
  blind as (
    select rule, target, min(title) as why
    from candidates
    where unknown and subject_id is null and detail::varchar = '{}'
    group by rule, target
  ),
  concerned as (
    from by_sources
    union all
    from by_log
  )
select
  concerned.* replace (
    concerned.assessed and blind.why is null as assessed,
    coalesce(if(concerned.assessed, blind.why, null), concerned.why) as why
  ),
  cut.parts,
  coalesce(evaluations.first_assessed_at >= $as_of::timestamptz, true) as baseline,
from concerned
left join cut using (rule, target)
left join blind using (rule, target)
left join rule_evaluations as evaluations using (rule, target);
