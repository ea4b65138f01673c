-- Closes the file of a compact copy.
detach compact;
