-- What a row of a view is.
comment on view {{name}} is {{comment}};
