detach evaluation;
