-- grain: as version_support, as of $as_of: made once for all rules that read it
create or replace temp table version_support as
from version_support_at($as_of);
