-- Creates the file of a compact copy.
attach {{file}} as compact;
