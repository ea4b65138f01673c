alter table {{name}} modify comment {{comment}};
