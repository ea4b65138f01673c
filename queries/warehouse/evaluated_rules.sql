-- grain: one row per rule of this evaluation; error: why it could not be evaluated, null if it was
-- parameters: $rules: a JSON list of them
create or replace temp table evaluated_rules as
select * rename (name as rule, "withinMinutes" as within_minutes), null::varchar as error,
from (
  select
    unnest(
      from_json(
        $rules,
        '[{"name": "varchar", "severity": "varchar", "worst": "varchar", "subject": "varchar", "sources": ["varchar"], "elsewhere": ["varchar"], "withinMinutes": "bigint", "proves": ["varchar"], "judges": ["varchar"], "columns": ["varchar"]}]'
      ),
      recursive := true
    ),
);
