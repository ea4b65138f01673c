-- Before a mail is handed over: if nothing follows in the outbox, nobody knows whether it was taken.
update outbox
set attempts = attempts + 1, tried_at = $now::timestamptz, reason = 'sending was begun and not ended'
where message_id = $message_id;
