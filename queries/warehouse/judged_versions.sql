-- grain: as versions_in_use, as of $as_of: made once for all rules that read it, because to make it takes longer than any of them
create or replace temp table versions_in_use as
from versions_in_use_at($as_of);
