-- grain: one row per version of the server of a target
-- subject: server
-- title: Servers
-- table: servers
-- order: 17
select target as subject_id, target as subject_name, product as place, version.*
from servers_history as version
