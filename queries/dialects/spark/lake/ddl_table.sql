create table if not exists {{name}} using delta location {{location}};
