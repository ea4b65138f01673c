-- grain: one row: the content of a message
select content
from outbox
where message_id = $message_id;
