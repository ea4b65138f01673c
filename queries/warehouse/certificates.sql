-- grain: one row per certificate of the mesh, now
create or replace view certificates as
select *
from certificates_at('infinity'::timestamptz);
