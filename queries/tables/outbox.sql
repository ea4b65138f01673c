-- grain: one row per digest and recipient
-- identity: message_id
create table if not exists outbox (
  message_id varchar not null, -- Message-ID of the mail: derived from job, run and recipient
  target varchar, -- targets of the digest, comma-separated
  job varchar not null, -- job of the digest
  run_id varchar not null, -- run of the digest
  recipient varchar not null, -- address of the recipient
  subject varchar not null, -- subject line
  status varchar not null, -- `pending`, `sent`, `refused` (permanently: the server rejects the recipient, or it was pending too long) or `replaced` (by the digest of a later run, because its own run was interrupted)
  attempts bigint not null, -- number of delivery attempts
  reason varchar, -- why it was not sent, one line
  created_at timestamptz not null, -- when the run created it
  tried_at timestamptz, -- start of the last attempt
  sent_at timestamptz, -- when the mail server accepted it
  content json -- content of the mail; null once it is sent or refused
);
