-- grain: one row per subject with an ID or name; if there is none, that begins with the text, or else contains it; if there is none, the five
-- with the most similar names. `isMatch` is false for these only.
-- parameters: $name; $type and $target: null for all
with
  candidates as (
    select
      subject_type,
      slug,
      target,
      subject_id,
      subject_name,
      case
        when subject_id = $name or subject_name = $name then 0
        when starts_with(lower(subject_id), lower($name)) or starts_with(lower(subject_name), lower($name)) then 1
        when contains(lower(subject_id), lower($name)) or contains(lower(subject_name), lower($name)) then 2
        else 3
      end as step,
      levenshtein(lower(coalesce(subject_name, subject_id)), lower($name)) as distance,
    from subject_candidates
    where
      ($type::varchar is null or subject_type = $type)
      and ($target::varchar is null or target = $target)
  )
select subject_type as type, slug, target, subject_id as id, subject_name as name, step < 3 as "isMatch"
from candidates
qualify step = min(step) over () and (step < 3 or row_number() over (order by distance, subject_name, subject_id) <= 5)
order by distance, subject_type, target, subject_id
