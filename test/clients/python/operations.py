"""Calls the services of a sandbox through clients from PyPI.

Reads what the sandbox has from standard input, as JSON, and writes one line of JSON for each operation:
{"client", "operation", "error"}; error is null where the client accepted the answer and it is the expected one.
"""

import json
import sys

facts = json.load(sys.stdin)
urls, tokens, expected = facts["urls"], facts["tokens"], facts["expected"]
is_live = facts["flavor"] == "hashicorp"  # the API documents have fewer relationships
results = []


def attempt(client, operation, call):
    try:
        call()
        error = None
    except BaseException as failure:  # a client may end the process
        error = f"{type(failure).__name__}: {failure}".splitlines()[0][:200]
    results.append({"client": client, "operation": operation, "error": error})


def equal(actual, wanted):
    if actual != wanted:
        raise AssertionError(f"{actual!r} instead of {wanted!r}"[:180])


def refused(call):
    try:
        call()
    except Exception:
        return
    raise AssertionError("not refused")


def parse_certificate(pem):
    from cryptography import x509

    x509.load_pem_x509_certificate(pem.encode())


def pytfe_operations():
    import pytfe
    from pytfe.models import agent, explorer

    client = pytfe.TFEClient(pytfe.TFEConfig(address=urls["platform"], token=tokens["platform"], max_retries=0))
    pools, organization = client.agent_pools, facts["organization"]
    kept = {}

    def run(operation, call):
        attempt("pytfe", operation, call)

    run("agent_pools.list", lambda: equal(len(list(pools.list(organization))), expected["pools"]))
    by_project = agent.AgentPoolListOptions(allowed_project_name="none of these")
    run("agent_pools.list by project", lambda: equal(list(pools.list(organization, by_project)), []))

    def create():
        options = agent.AgentPoolCreateOptions(
            name="of-pytfe",
            organization_scoped=False,
            allowed_workspace_ids=facts["workspaces"][:2],
            allowed_project_ids=facts["projects"][:1] if is_live else None,
            excluded_workspace_ids=facts["workspaces"][2:3] if is_live else None,
        )
        kept["pool"] = pools.create(organization, options).id

    run("agent_pools.create", create)

    def read():
        pool = pools.read(kept["pool"])
        equal([item.id for item in pool.allowed_workspaces], facts["workspaces"][:2])
        equal([item.id for item in pool.allowed_projects], facts["projects"][:1] if is_live else [])
        equal([item.id for item in pool.excluded_workspaces], facts["workspaces"][2:3] if is_live else [])

    run("agent_pools.read", read)
    renamed = agent.AgentPoolUpdateOptions(name="renamed")
    run("agent_pools.update", lambda: equal(pools.update(kept["pool"], renamed).name, "renamed"))
    assigned = agent.AgentPoolAssignToWorkspacesOptions(workspace_ids=facts["workspaces"][:3])
    run("agent_pools.assign_to_workspaces", lambda: pools.assign_to_workspaces(kept["pool"], assigned))
    described = agent.AgentTokenCreateOptions(description="of pytfe")

    def create_token():
        made = client.agent_tokens.create(kept["pool"], described)
        kept["token"] = made.id
        if not made.token:
            raise AssertionError("the answer has no token")

    run("agent_tokens.create", create_token)
    run("agent_tokens.list", lambda: equal([t.id for t in client.agent_tokens.list(kept["pool"])], [kept["token"]]))
    run("agent_tokens.read", lambda: equal(client.agent_tokens.read(kept["token"]).description, "of pytfe"))
    run("agent_tokens.delete", lambda: client.agent_tokens.delete(kept["token"]))
    run("agents.list", lambda: equal(len(list(client.agents.list(facts["agent"]["pool"]))), facts["agent"]["count"]))
    run("agents.read", lambda: equal(client.agents.read(facts["agent"]["id"]).id, facts["agent"]["id"]))
    run("agent_pools.delete", lambda: pools.delete(kept["pool"]))

    for view in ["workspaces", "tf_versions", "providers", "modules"]:
        options = explorer.ExplorerQueryOptions(view_type=view, page_size=100)
        rows = expected["rows"][view]
        run(f"explorer.query {view}", lambda o=options, n=rows: equal(len(list(client.explorer.query(organization, o))), n))
    names = expected["workspace_names"]
    either = explorer.ExplorerQueryOptions(
        view_type="workspaces",
        filters=[
            explorer.ExplorerUrlFilter(index=0, field="workspace_name", operator="is", value=name, value_index=index)
            for index, name in enumerate(names)
        ],
    )

    def query_two():
        found = [row.attributes["workspace_name"] for row in client.explorer.query(organization, either)]
        equal(sorted(found), sorted(names))

    run("explorer.query with two values of a filter", query_two)
    whole = explorer.ExplorerQueryOptions(view_type="providers")
    run("explorer.export_csv", lambda: client.explorer.export_csv(organization, whole).index("workspace_count"))
    saved = explorer.ExplorerSavedQuery(
        query_type="workspaces",
        filter=[explorer.ExplorerSavedQueryFilter(field="workspace_name", operator="is", value=names)],
        fields=["workspace_name"],
    )
    view = explorer.ExplorerSavedViewCreateOptions(name="of pytfe", query_type="workspaces", query=saved)

    def create_view():
        kept["view"] = client.explorer.create_saved_view(organization, view).id

    run("explorer.create_saved_view", create_view)
    run("explorer.list_saved_views", lambda: equal(len(list(client.explorer.list_saved_views(organization))), expected["views"] + 1))

    def read_view():
        equal(client.explorer.read_saved_view(organization, kept["view"]).query.filter[0].value, names)

    run("explorer.read_saved_view", read_view)
    run("explorer.saved_view_results", lambda: equal(len(list(client.explorer.saved_view_results(organization, kept["view"]))), 2))
    run("explorer.saved_view_results_csv", lambda: client.explorer.saved_view_results_csv(organization, kept["view"]).index(names[0]))
    changed = explorer.ExplorerSavedViewUpdateOptions(name="changed", query=saved)
    run("explorer.update_saved_view", lambda: equal(client.explorer.update_saved_view(organization, kept["view"], changed).name, "changed"))
    run("explorer.delete_saved_view", lambda: client.explorer.delete_saved_view(organization, kept["view"]))
    run("organizations.read_entitlements", lambda: equal(client.organizations.read_entitlements(organization).agents, True))


def terrasnek_operations():
    from terrasnek.api import TFC

    kept = {}

    def run(operation, call):
        attempt("terrasnek", operation, call)

    def connect():
        kept["client"] = TFC(tokens["platform"], url=urls["platform"])
        kept["client"].set_org(facts["organization"])

    run("connect", connect)
    run("account.show", lambda: kept["client"].account.show()["data"]["id"])
    run("orgs.entitlements", lambda: equal(kept["client"].orgs.entitlements(facts["organization"])["data"]["attributes"]["agents"], True))
    run("agents.list_pools", lambda: equal(len(kept["client"].agents.list_pools()["data"]), expected["pools"]))
    body = {"data": {"type": "agent-pools", "attributes": {"name": "of-terrasnek"}}}

    def create():
        kept["pool"] = kept["client"].agents.create_pool(body)["data"]["id"]

    run("agents.create_pool", create)
    run("agents.show_pool", lambda: equal(kept["client"].agents.show_pool(kept["pool"])["data"]["id"], kept["pool"]))
    run("agents.list", lambda: equal(len(kept["client"].agents.list(facts["agent"]["pool"])["data"]), facts["agent"]["count"]))
    run("agents.show", lambda: equal(kept["client"].agents.show(facts["agent"]["id"])["data"]["id"], facts["agent"]["id"]))
    token = {"data": {"type": "authentication-tokens", "attributes": {"description": "of terrasnek"}}}

    def create_token():
        kept["token"] = kept["client"].agent_tokens.create(kept["pool"], token)["data"]["id"]

    run("agent_tokens.create", create_token)
    run("agent_tokens.list", lambda: equal(len(kept["client"].agent_tokens.list(kept["pool"])["data"]), 1))
    run("agent_tokens.destroy", lambda: kept["client"].agent_tokens.destroy(kept["token"]))
    run("agents.destroy_pool", lambda: kept["client"].agents.destroy_pool(kept["pool"]))


def hvac_operations():
    import hvac

    client = hvac.Client(url=urls["secrets"], token=tokens["secrets"])
    mount = expected["mount"]
    roles = client.secrets.consul

    def run(operation, call):
        attempt("hvac", operation, call)

    run("is_authenticated", lambda: equal(client.is_authenticated(), True))
    run("is_authenticated with another token", lambda: equal(hvac.Client(url=urls["secrets"], token="x").is_authenticated(), False))
    run("auth.token.lookup_self", lambda: equal(client.auth.token.lookup_self()["data"]["policies"], ["root"]))
    run("sys.read_health_status", lambda: equal(client.sys.read_health_status(method="GET")["sealed"], False))
    run("sys.is_sealed", lambda: equal(client.sys.is_sealed(), False))
    run("sys.list_mounted_secrets_engines", lambda: client.sys.list_mounted_secrets_engines()["data"]["keymgmt/"])
    run("sys.get_capabilities", lambda: equal(client.sys.get_capabilities([f"{mount}/roles"])["data"]["capabilities"], ["root"]))
    run("secrets.consul.list_roles", lambda: equal(len(roles.list_roles(mount)["data"]["keys"]), expected["roles"]))
    run("secrets.consul.create_or_update_role", lambda: roles.create_or_update_role("of-hvac", policies=["web"], ttl="1h", mount_point=mount))
    run("secrets.consul.read_role", lambda: equal(roles.read_role("of-hvac", mount)["data"]["ttl"], 3600))
    run("secrets.consul.generate_credentials", lambda: roles.generate_credentials("of-hvac", mount)["data"]["token"])
    run("secrets.consul.delete_role", lambda: roles.delete_role("of-hvac", mount))
    run("secrets.consul.read_role of none", lambda: refused(lambda: roles.read_role("of-hvac", mount)))
    run("list", lambda: equal(len(client.list("keymgmt/key")["data"]["keys"]), expected["keys"]))

    def read_key():
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        data = client.read("keymgmt/key/payments-signing")["data"]
        versions = data.get("versions") or data["keys"]
        load_pem_public_key(versions["1"]["public_key"].encode())

    run("read", read_key)
    run("write", lambda: client.write("keymgmt/key/of-hvac", type="ecdsa-p256"))
    run("write to rotate", lambda: client.write("keymgmt/key/of-hvac/rotate"))
    run("write of a setting", lambda: client.write("keymgmt/key/of-hvac", deletion_allowed=True))
    run("delete", lambda: client.delete("keymgmt/key/of-hvac"))


def nomad_operations():
    import nomad

    client = nomad.Nomad(address=urls["scheduler"], token=tokens["scheduler"], timeout=30)
    rules = 'namespace "default" { policy = "read" }'
    policy = {"Name": "of-python-nomad", "Rules": rules, "Description": "one"}

    def run(operation, call):
        attempt("python-nomad", operation, call)

    run("acl.get_self_token", lambda: equal(client.acl.get_self_token()["Type"], "management"))
    run("acl.get_policies", lambda: equal(len(client.acl.get_policies()), expected["policies"]))
    run("acl.create_policy", lambda: client.acl.create_policy("of-python-nomad", policy))
    run("acl.get_policy", lambda: equal(client.acl.get_policy("of-python-nomad")["Rules"], rules))
    run("acl.update_policy", lambda: client.acl.update_policy("of-python-nomad", {**policy, "Description": "two"}))
    run("acl.delete_policy", lambda: client.acl.delete_policy("of-python-nomad"))
    run("acl.get_policy of none", lambda: refused(lambda: client.acl.get_policy("of-python-nomad")))
    run("namespaces.get_namespaces", lambda: equal(len(client.namespaces.get_namespaces()), 3))


def consul_operations():
    import consul

    host, port = urls["mesh"].removeprefix("http://").split(":")
    client = consul.Consul(host=host, port=int(port), token=tokens["mesh"])
    uri = "spiffe://x.consul/ns/default/dc/dc1/svc/web"

    def run(operation, call):
        attempt("py-consul", operation, call)

    run("acl.token.read_self", lambda: client.acl.token.read_self(token=tokens["mesh"])["AccessorID"])

    def roots():
        for root in client.agent.connect.ca.roots()["Roots"]:
            parse_certificate(root["RootCert"])

    run("agent.connect.ca.roots", roots)
    run("agent.connect.ca.leaf", lambda: parse_certificate(client.agent.connect.ca.leaf("web", token=tokens["mesh"])["CertPEM"]))
    run("agent.connect.authorize", lambda: equal(client.agent.connect.authorize("api", uri, "04:00", token=tokens["mesh"])["Authorized"], True))
    run("catalog.services", lambda: client.catalog.services(token=tokens["mesh"])[1]["web"])
    run("agent.services", lambda: client.agent.services(token=tokens["mesh"])["web"])


for group in [pytfe_operations, terrasnek_operations, hvac_operations, nomad_operations, consul_operations]:
    try:
        group()
    except BaseException as failure:
        results.append({"client": group.__name__.removesuffix("_operations"), "operation": "start", "error": str(failure)[:200]})

for result in results:
    print(json.dumps(result))
