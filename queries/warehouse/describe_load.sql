-- The columns that a load query yields.
describe {{rows}};
