-- Records why messages were not tried. Their content is not touched: an update keeps old and new values in memory.
update outbox
set reason = $reason
where message_id in (select unnest($message_ids::varchar[]));
