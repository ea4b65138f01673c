-- grain: one row per rule, target and part that a source of the rule could not list
-- What a service never lists of a part is left to a rule that judges it itself.
-- A finding belongs to the part if its detail has the part's column with its value, and may belong to it if its detail has no such field.
create or replace temp table rule_parts as
select
  rules.rule,
  parts.target,
  parts.part,
  parts.value,
  parts.is_unsupported,
  format('{} of {} is unknown: {}', concat_ws(' ', replace(parts.part, '_id', ''), parts.value), parts.source, parts.reason) as reason,
from (select rule, judges, unnest(sources) as source from evaluated_rules) as rules
join unknown_parts as parts using (source)
where not (parts.is_unsupported and list_contains(rules.judges, source));
