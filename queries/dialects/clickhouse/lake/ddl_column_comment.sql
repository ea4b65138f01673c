alter table {{name}} comment column {{column}} {{comment}};
