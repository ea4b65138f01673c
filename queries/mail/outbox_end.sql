-- Records the result of a delivery. The content is kept only while the mail is pending.
update outbox
set
  status = $status,
  reason = $reason,
  sent_at = if($status = 'sent', $now::timestamptz, null),
  content = if($status = 'pending', content, null)
where message_id = $message_id;
