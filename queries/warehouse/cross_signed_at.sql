-- grain: one row per intermediate that certifies the key of the root which names it, as of a time
-- Where a root is replaced, the old one signs the key of the new one, for peers that do not know that yet. Consul's lasts seven days, and is
-- neither renewed nor removed: the root has its own certificate (docs/services/mesh.md#ca-roots).
create or replace macro cross_signed_at(at_time) as table
select target, intermediate.fingerprint
from authority_certificates_at(at_time) as intermediate
join authority_certificates_at(at_time) as root using (target, root_id, key_id)
where intermediate.kind = 'intermediate' and root.kind = 'root';
