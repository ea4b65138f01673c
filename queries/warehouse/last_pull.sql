-- The last pull of a source of a target that loaded its rows. is_broken: whether a later one loaded nothing
select
  arg_max(extracted_at, as_of) filter (where extracted_at is not null) as extracted_at,
  arg_max_null(extracted_at, as_of) is null as is_broken,
from pulls
where target = $target and source = $source;
