-- grain: one row per target
select kind, product, version, note
from read_json($files, format = 'newline_delimited', records = true, columns = {kind: 'VARCHAR', product: 'VARCHAR', version: 'VARCHAR', note: 'VARCHAR'}, maximum_object_size = $longest_line)
