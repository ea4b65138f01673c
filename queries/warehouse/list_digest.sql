-- Replaces each list by its digest, so that rows are compared and stored without the list.
update stage_{{table}}
set {{list}} = md5({{list}})
where {{list}} is not null;
