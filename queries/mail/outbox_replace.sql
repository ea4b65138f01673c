-- A digest of a later run contains what the pending one of an interrupted run contains: both compare with the same earlier run.
update outbox
set status = 'replaced', reason = 'replaced by the digest of run ' || $run_id, content = null
where
  status = 'pending'
  and job = $job
  and recipient = $recipient
  and message_id <> $message_id
  and run_id in (select run_id from runs where status = 'interrupted');
