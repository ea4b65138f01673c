-- Rows of an explorer view from one CSV export. Column types are chosen by name, in the order of the header.
-- {{select}}, {{columns}}, {{nulls}}, {{quotedNulls}}, {{maxLine}} and {{bufferSize}} are built from the header. $file is the path of the landing file.
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
  allow_quoted_nulls = {{quotedNulls}},
  max_line_size = {{maxLine}},
  buffer_size = {{bufferSize}}
)
