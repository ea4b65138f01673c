-- Gives rows that name no mount that of the target: they are of a version that knew one mount only. It makes no version.
-- {{rows}}: a table of rows; parameters: $target, $mount
update {{rows}} set mount = $mount where target = $target and mount is null;
