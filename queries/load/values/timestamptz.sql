-- The value of a time column. DuckDB also reads `infinity`, and years with six digits before Christ. To calculate with one fails, or ends the
-- database. {{name}}: of the column
if(
  {{column}}::timestamptz not between timestamptz '0000-01-01 00:00:00+00' and timestamptz '9999-12-31 23:59:59.999999+00',
  error('{{name}} is of no year from 0 to 9999: ' || {{column}}::timestamptz),
  {{column}}::timestamptz
)
