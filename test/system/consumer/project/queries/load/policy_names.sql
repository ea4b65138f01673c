-- grain: one row per ACL policy
select unnest(body) ->> 'Name' as name
from read_json($files, format = 'newline_delimited', columns = {body: 'JSON[]'}, maximum_object_size = $longest_line)
