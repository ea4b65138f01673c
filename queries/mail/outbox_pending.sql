-- grain: one row per digest and recipient not sent yet, the oldest first
-- parameters: $job: null for every job
select message_id, job, recipient, subject, created_at, content
from outbox
where status = 'pending' and coalesce(job = $job, true)
order by created_at, job, recipient, message_id;
