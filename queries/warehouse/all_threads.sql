-- One thread for each processor.
reset threads;
