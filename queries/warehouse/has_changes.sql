-- Whether versions of a table began or ended in a period. {{label}}, {{history}}: the table; parameters $from, $to
select {{label}} as name
where exists (
  from {{history}}
  where
    (valid_from > $from::timestamptz and valid_from <= $to::timestamptz)
    or (valid_to > $from::timestamptz and valid_to <= $to::timestamptz)
)
