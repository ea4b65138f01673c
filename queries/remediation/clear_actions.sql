-- Empties the table `actions` before the ledger is copied into it.
delete from actions;
