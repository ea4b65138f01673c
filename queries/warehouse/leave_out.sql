-- Takes the changes of some targets out of a batch. {{targets}}: as literals
delete from delta_{{table}} where target in ({{targets}});
