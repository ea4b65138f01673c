-- The columns of a table or view with their types.
describe {{table}};
