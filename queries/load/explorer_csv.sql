-- Rows of an explorer view from one CSV export; types by column name, in the order of the file's own header.
-- {{select}}, {{columns}}, {{nulls}}, {{maxLine}}: made from that header. $file: the landing file.
select {{select}}
from read_csv(
  $file,
  auto_detect = false,
  header = true,
  delim = ',',
  quote = '"',
  escape = '"',
  columns = {{columns}},
  nullstr = {{nulls}},
  max_line_size = {{maxLine}},
  buffer_size = {{bufferSize}}
)
