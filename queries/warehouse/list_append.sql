-- Adds the members that were added or moved.
insert into {{table}}_members by name
select {{key}}, member, nth, rank, $as_of::timestamptz as valid_from
from member_changes
where rank is not null;
