-- grain: one row per version of a provider or public module in use: those that its registry lists, and those in use
-- key: source, version
-- source: registry_releases
-- past: published_at
-- name: source
-- follows: source
-- renewed: *
create table if not exists registry_releases_history (
  target varchar not null, -- name of the target in tidemark.yaml
  source varchar, -- full source address, as `providers` and `modules` have it
  version varchar, -- version
  published_at timestamptz, -- when it was published; null where the registry does not tell, as of all modules
  deprecated boolean, -- whether the registry calls the version of a module deprecated; null for providers, and where it does not list it
  warning varchar, -- what the registry warns of: a text about the provider, or why the module is deprecated
  unlisted boolean, -- whether the registry does not list it, although it is in use; null for a text that is no version
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
