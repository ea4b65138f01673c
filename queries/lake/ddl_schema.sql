-- The schema of the views.
create schema if not exists {{schema}};
