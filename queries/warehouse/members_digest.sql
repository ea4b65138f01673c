-- Puts a digest in the place of each list, so that rows compare and are stored without it.
update stage_{{table}}
set {{list}} = md5({{list}})
where {{list}} is not null;
