-- grain: one row per rule and target that it concerns
-- assessed: every source of the rule was pulled completely in the run as of $as_of, so that findings it does not return are resolved;
-- tried: every source was tried in that run; why: why it is not assessed; baseline: nothing was assessed before.
create or replace temp table assessments as
with
  needed as (
    select rule, error, len(sources) as wanted, unnest(sources) as source
    from evaluated_rules
  ),
  by_sources as (
    select
      needed.rule,
      state.target,
      bool_and(state.as_of = $as_of::timestamptz) and any_value(needed.error) is null as assessed,
      bool_and(state.tried_at = $as_of::timestamptz) as tried,
      coalesce(
        any_value(needed.error),
        string_agg(format('source {} is {}', source, case
          when state.tried_at < $as_of::timestamptz then 'not part of this run'
          else state.status
        end), ', ' order by source) filter (where state.as_of is distinct from $as_of::timestamptz)
      ) as why,
    from needed
    join source_state as state using (source)
    group by needed.rule, needed.wanted, state.target
    having count(*) = needed.wanted
  ),
  by_log as (
    select evaluated_rules.rule, targets.target, evaluated_rules.error is null as assessed, true as tried, evaluated_rules.error as why
    from evaluated_rules
    cross join (select distinct target from source_state) as targets
    where len(evaluated_rules.sources) = 0
  ),
  concerned as (
    from by_sources
    union all
    from by_log
  )
select
  concerned.*,
  coalesce(evaluations.first_assessed_at >= $as_of::timestamptz, true) as baseline,
from concerned
left join rule_evaluations as evaluations using (rule, target);
