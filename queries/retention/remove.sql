-- {{stored}}: the table; {{old}}: its rows that go
delete from {{stored}} where rowid in (select old_row from {{old}});
