-- grain: one row per target and source whose listing is not known to contain everything
select target, source, why
from listing_proofs
where not proven
order by target, source;
