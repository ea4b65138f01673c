-- Adds a digest for a recipient. One that exists already stays unchanged.
insert into outbox by name
select
  $message_id as message_id,
  $target as target,
  $job as job,
  $run_id as run_id,
  $recipient as recipient,
  $subject as subject,
  'pending' as status,
  0 as attempts,
  $created_at::timestamptz as created_at,
  $content::json as content
where not exists (from outbox where message_id = $message_id);
