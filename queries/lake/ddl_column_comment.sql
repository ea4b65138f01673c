-- What a column of a view means.
comment on column {{name}}.{{column}} is {{comment}};
