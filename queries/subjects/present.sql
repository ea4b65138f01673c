-- The last version of each subject of a kind that has a page.
-- {{subject}}: the kind; {{versions}}: its versions; {{texts}}: its columns of text and JSON as `cut_text.sql` has them
-- parameters: $as_of, $max_length
select versions.* replace ({{texts}})
from ({{versions}}) as versions
semi join (from subject_pages where subject_type = {{subject}}) as pages using (target, subject_id)
where valid_from <= $as_of::timestamptz
qualify row_number() over (partition by target, subject_id order by valid_from desc) = 1
order by target, subject_id
