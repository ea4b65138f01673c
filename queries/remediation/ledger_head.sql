-- grain: the last line of the ledger that this warehouse has seen; no row where it has seen no ledger
select lines, digest, replaced_lines, replaced_digest
from ledger_head;
