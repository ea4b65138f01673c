-- grain: one row per statement of policy/versions.yaml, as the last run read it: the versions from a bound to another, and what is said of them
-- catalogue: yes
--  kind varchar -- `tool`, `provider`, `module` or `product`
--  name varchar -- name of a tool or product, or the full source address of a provider or module
--  says varchar -- `denied`; `minimum` or `recommended` of the versions below it
--  versions varchar -- the version or range as the file has it
--  at_least varchar -- lowest version that it is about; null where there is none
--  above varchar -- the same, without that version
--  at_most varchar -- highest version that it is about; null where there is none
--  below varchar -- the same, without that version
--  severity varchar -- severity of its findings
--  reason varchar -- why
--  link varchar -- where more is said
--  ends_at timestamptz -- when it ends; null where it does not
-- {{scope}}: empty, or `temp ` for one connection; {{policy}}: the statements as a JSON list
-- defined: after the views
create or replace {{scope}}view version_policy as
select
  unnest(
    from_json(
      {{policy}},
      '[{"kind": "varchar", "name": "varchar", "says": "varchar", "versions": "varchar", "at_least": "varchar", "above": "varchar", "at_most": "varchar", "below": "varchar", "severity": "varchar", "reason": "varchar", "link": "varchar", "ends_at": "timestamptz"}]'
    ),
    recursive := true
  );
