-- grain: one row per message of $message_ids
select message_id, recipient, status, sent_at
from outbox
where list_contains($message_ids::varchar[], message_id)
order by recipient;
