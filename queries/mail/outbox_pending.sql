-- grain: one row per digest and recipient not sent yet, the oldest first; those of a recipient whose mail failed come last, because it may be
-- what breaks the connection
-- parameters: $job: null for every job
select message_id, run_id, recipient, subject, created_at
from outbox
where status = 'pending' and coalesce(job = $job, true)
order by max(attempts) over (partition by recipient), created_at, job, recipient, message_id;
