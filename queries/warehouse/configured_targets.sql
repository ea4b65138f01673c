-- grain: one row per configured target, with what rules and proofs need of it
-- parameters: $configured: a JSON list of them
create or replace temp table configured_targets as
select
  unnest(
    from_json(
      $configured,
      '[{"target": "varchar", "kind": "varchar", "flavor": "varchar", "namespace": "varchar", "sees": "map(varchar, varchar)", "management_token": "varchar"}]'
    ),
    recursive := true
  );
