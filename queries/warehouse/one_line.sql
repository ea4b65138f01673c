-- one_line: a text without control characters and without blanks at its ends or side by side: names may contain line breaks
create or replace {{scope}}macro one_line(text) as (
  if(
    regexp_matches(text, '[\x00-\x1f\x7f]|  |^ | $'),
    trim(regexp_replace(text, '[\s\x00-\x1f\x7f]+', ' ', 'g')),
    text
  )
);
