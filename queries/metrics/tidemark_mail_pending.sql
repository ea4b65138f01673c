-- help: Digests that no mail server has taken yet.
-- grain: one row
select count(*) as value
from outbox
where status = 'pending';
