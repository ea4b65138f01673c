-- grain: one row per rule of this evaluation; error: why it could not be asked, null when it was
-- parameters: $rules: a JSON list of them
create or replace temp table find_rules as
select
  unnest(
    from_json(
      $rules,
      '[{"rule": "varchar", "severity": "varchar", "subject": "varchar", "sources": ["varchar"], "error": "varchar"}]'
    ),
    recursive := true
  );
