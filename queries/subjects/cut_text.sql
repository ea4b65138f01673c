-- A column whose text is cut after $max_length characters.
-- {{name}}: the column; {{convert}}: the function that makes its type of a text
if(length({{name}}::varchar) > $max_length, {{convert}}(left({{name}}::varchar, $max_length::bigint)), {{name}}) as {{name}}
