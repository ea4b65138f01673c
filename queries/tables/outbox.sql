-- grain: one row per digest and recipient
create table if not exists outbox (
  message_id varchar not null, -- Message-ID of the mail: the same for a job, a run and a recipient, however often it is sent
  target varchar, -- targets that the digest tells of, comma-separated
  job varchar not null, -- job that the digest belongs to
  run_id varchar not null, -- run that the digest tells of
  recipient varchar not null, -- address that it goes to
  subject varchar not null, -- subject line
  status varchar not null, -- `pending`, `sent` or `refused` (for good: the server does not take this recipient, or it was pending too long)
  attempts bigint not null, -- how often sending it was begun
  reason varchar, -- why it is not sent, one line
  created_at timestamptz not null, -- when it was written, with the run
  tried_at timestamptz, -- when sending it was last begun
  sent_at timestamptz, -- when the mail server took it
  content json -- the mail itself; null once it is sent or refused
);
