-- Records the start of a delivery. If no result follows, it is unknown whether the server accepted the mail.
update outbox
set attempts = attempts + 1, tried_at = $now::timestamptz, reason = 'interrupted while it was sent'
where message_id = $message_id;
