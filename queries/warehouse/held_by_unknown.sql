-- Rows that may be of another part, {{mayBeOther}}, and which a part that could not be listed already has, as a condition on a stage.
-- {{sameRest}}: target and the rest of the key are the same
{{mayBeOther}}
and exists (
  from {{history}} as held
  where held.valid_to is null and ({{isUnknown}}) and {{sameRest}}
)
