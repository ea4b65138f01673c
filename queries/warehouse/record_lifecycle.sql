-- Records the facts that are newer than the known ones, or differ from those of the same day: a cycle that a document lacks keeps its facts.
-- Facts that give no end keep the cycle that is known to end the support, because not every source names it.
-- parameters: $facts: a JSON list of them; $origin; $known_at
insert into lifecycle_facts by name
with
  given as (
    select
      unnest(
        from_json(
          $facts,
          '[{"product": "varchar", "cycle": "varchar", "released_at": "date", "support_ends_at": "date", "ended": "boolean", "ends_with": "varchar", "latest": "varchar", "latest_at": "date", "data_as_of": "date"}]'
        ),
        recursive := true
      )
  ),
  facts as (
    select
      given.* replace (
        if(given.support_ends_at is null and not given.ended, coalesce(given.ends_with, known.ends_with), null) as ends_with
      ),
      $origin as origin,
    from given
    left join lifecycle as known using (product, cycle)
  )
select facts.*, $known_at::timestamptz as known_at
from facts
left join lifecycle as known using (product, cycle)
where
  known.product is null
  or facts.data_as_of > known.data_as_of
  or (facts.data_as_of = known.data_as_of and $origin <> 'packaged' and facts is distinct from known);
