-- Rows whose plugin is not certain, and which a part that could not be listed already has, as a condition on a stage.
-- {{sameRest}}: the rest of the key is the same
(is_ambiguous or {{part}} is null) is true
and exists (
  from {{history}} as held
  where held.target = staged.target and held.valid_to is null and ({{isUnknown}}) and {{sameRest}}
)
