-- grain: one row per product and cycle: what is known of its support
-- catalogue: yes
-- identity: product, cycle
--  product varchar -- name of the product: terraform, opentofu, vault, openbao, consul, nomad, boundary, packer
--  cycle varchar -- its line of releases, such as 1.13
--  released_at date -- when the first release of the cycle was published
--  support_ends_at date -- when its support ends or ended; null where the day is not known
--  ended boolean -- whether support has ended on a day that is not known; false says nothing about the time after data_as_of
--  ends_with varchar -- the cycle whose release ends its support; null where the day is known, or nothing is
--  latest varchar -- its latest release
--  latest_at date -- when that was published
--  data_as_of date -- day of the facts
--  origin varchar -- `packaged`, `imported`, or the address that they were read from
-- defined: after the views
create or replace view lifecycle as
select *
from lifecycle_at('infinity'::timestamptz);
