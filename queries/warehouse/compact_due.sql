-- grain: one row: whether a third of the blocks of the file are free, and the file is large enough for a compact copy to be worth its time
-- parameters: $least_bytes
select free_blocks * 3 > total_blocks and total_blocks * block_size >= $least_bytes as is_due
from pragma_database_size()
where database_name = current_database();
