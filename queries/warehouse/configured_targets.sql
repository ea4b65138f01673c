-- grain: one row per configured target, with what rules and proofs need of it
-- parameters: $targets: a JSON list of them
create or replace temp table configured_targets as
select
  unnest(
    from_json(
      $targets,
      '[{"target": "varchar", "kind": "varchar", "flavor": "varchar", "namespace": "varchar", "sees": "map(varchar, varchar)", "management_token": "varchar"}]'
    ),
    recursive := true
  );
