-- Gives leaf certificates that name no namespace that of their URI, as they are loaded now: they are of a version that did not know it. It makes
-- no version.
update leaf_certificates_history
set namespace = coalesce(nullif(regexp_extract(service_uri, '/ns/([^/]+)/', 1), ''), 'default')
where namespace is null;
