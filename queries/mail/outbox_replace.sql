-- A digest of a later run contains what the pending one of an interrupted run contains: both compare with the same earlier run. One of
-- the same run that is requested again contains what the pending one contains.
update outbox
set status = 'replaced', reason = 'replaced by the digest of run ' || $run_id, content = null
where
  status = 'pending'
  and job = $job
  and recipient = $recipient
  and message_id <> $message_id
  and exists (from outbox as mine where mine.message_id = $message_id and mine.status = 'pending')
  and (run_id = $run_id or run_id in (select run_id from runs where status = 'interrupted'));
