-- grain: one row per rule of this evaluation; error: why it could not be evaluated, null if it was
-- parameters: $rules: a JSON list of them
create or replace temp table evaluated_rules as
select
  unnest(
    from_json(
      $rules,
      '[{"rule": "varchar", "severity": "varchar", "worst": "varchar", "subject": "varchar", "sources": ["varchar"], "elsewhere": ["varchar"], "within_minutes": "bigint", "proves": ["varchar"], "columns": ["varchar"], "error": "varchar"}]'
    ),
    recursive := true
  );
