-- Takes the changes of refused landings out of a stage. {{refused}}: their targets, as literals
delete from delta_{{table}} where target in ({{refused}});
