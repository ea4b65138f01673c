-- Empties the copy of the ledger before it is filled again.
delete from actions;
