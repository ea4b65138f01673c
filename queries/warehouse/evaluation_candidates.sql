-- grain: as candidates, of the rules that a second connection evaluates
create or replace table evaluation.candidates as
from candidates
limit 0;
