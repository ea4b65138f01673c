-- grain: one row per product of which facts are known; as_of: of the oldest
select product, min(data_as_of) as as_of
from lifecycle
group by product
order by product;
