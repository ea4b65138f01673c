-- grain: one row per product, cycle and time from which other facts about it were known
-- identity: product, cycle, known_at
-- logged_at: known_at
create table if not exists lifecycle_facts (
  product varchar not null, -- name of the product: terraform, opentofu, vault, openbao, consul, nomad, boundary, packer
  cycle varchar not null, -- its line of releases, such as 1.13
  released_at date, -- when the first release of the cycle was published
  support_ends_at date, -- when its support ends or ended; null where the day is not known
  ended boolean, -- whether support has ended on a day that is not known; false says nothing about the time after data_as_of
  ends_with varchar, -- the cycle whose release ends its support; null where the day is known, or nothing is
  latest varchar, -- its latest release
  latest_at date, -- when that was published
  data_as_of date not null, -- day of the facts
  origin varchar not null, -- `packaged`, `imported`, or the address that they were read from
  known_at timestamptz not null -- since when the warehouse has these facts
);
