-- What the second connection has found.
insert into candidates
from evaluation.candidates;
