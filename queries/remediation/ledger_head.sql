-- grain: the last line of the ledger that this warehouse has seen; no row where it has seen no ledger
-- A warehouse of an earlier version has no columns for the ledger that was replaced.
from ledger_head;
