-- grain: one row per subject with an ID or name; if there is none, the five with the most similar names. `is_exact` tells which.
-- parameters: $name; $type and $target: null for all
with
  candidates as (
    select
      subject_type,
      target,
      subject_id,
      subject_name,
      subject_id = $name or subject_name = $name as is_exact,
      levenshtein(lower(coalesce(subject_name, subject_id)), lower($name)) as distance,
    from subject_candidates
    where
      ($type::varchar is null or subject_type = $type)
      and ($target::varchar is null or target = $target)
  )
select subject_type, target, subject_id, subject_name, coalesce(is_exact, false) as is_exact
from candidates
qualify is_exact or (not coalesce(bool_or(is_exact) over (), false) and row_number() over (order by distance, subject_name, subject_id) <= 5)
order by distance, subject_type, target, subject_id
