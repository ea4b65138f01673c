-- One thread.
set threads = 1;
