-- Rows whose plugin is not certain, and which a part that could not be listed already has, as a condition on a stage.
-- {{sameRest}}: target and the rest of the key are the same
(is_ambiguous or {{part}} is null) is true
and exists (
  from {{history}} as held
  where held.valid_to is null and ({{isUnknown}}) and {{sameRest}}
)
