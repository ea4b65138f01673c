comment on view {{name}} is {{comment}};
