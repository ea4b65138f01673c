-- Copies tables, views, macros and comments. The catalog of the working file has the name of the file.
copy from database warehouse to compact;
