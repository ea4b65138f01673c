-- rule: What is known of the support of versions in use is older than `lifecycleDays`.
-- severity: warning
-- sources: none
-- subject: product
-- many: products have old facts about their support
-- repair: tidemark lifecycle import FILE, or set lifecycle.url
-- grain: one row per target and product with a version in use whose facts are so old
-- parameters: $as_of, $lifecycle_days
select
  target,
  name as subject_id,
  name as subject_name,
  format('What is known of the support of {} is of {}', name, min(data_as_of)) as title,
  json_object('product', name, 'facts_of', min(data_as_of)) as detail,
  'facts about support' as group_key,
from version_support
where data_as_of < ($as_of::timestamptz - to_seconds($lifecycle_days * 86400))::date
group by target, name
