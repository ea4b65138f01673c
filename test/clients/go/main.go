// Calls the services of a sandbox through the vendors' Go modules.
//
// It reads what the sandbox has from standard input, as JSON, and writes one line of JSON for each operation:
// {"client", "operation", "error"}; error is null where the client accepted the answer and it is the expected one.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"

	consul "github.com/hashicorp/consul/api"
	"github.com/hashicorp/go-tfe"
	nomad "github.com/hashicorp/nomad/api"
	vault "github.com/hashicorp/vault/api"
)

type facts struct {
	Flavor       string            `json:"flavor"`
	URLs         map[string]string `json:"urls"`
	Tokens       map[string]string `json:"tokens"`
	Organization string            `json:"organization"`
	Workspaces   []string          `json:"workspaces"`
	Projects     []string          `json:"projects"`
	Agent        struct {
		ID    string `json:"id"`
		Pool  string `json:"pool"`
		Count int    `json:"count"`
	} `json:"agent"`
	Volume     string `json:"volume"`
	ExternalID string `json:"externalId"`
	Plugin     string `json:"plugin"`
	Expected   struct {
		Pools     int    `json:"pools"`
		Mount     string `json:"mount"`
		Roles     int    `json:"roles"`
		Keys      int    `json:"keys"`
		Policies  int    `json:"policies"`
		Volumes   int    `json:"volumes"`
		Externals int    `json:"externals"`
		Snapshots int    `json:"snapshots"`
	} `json:"expected"`
}

type result struct {
	Client    string  `json:"client"`
	Operation string  `json:"operation"`
	Error     *string `json:"error"`
}

var sandbox facts

// attempt prints the result of one operation.
func attempt(client string, operation string, call func() error) {
	done := result{Client: client, Operation: operation}
	if err := safely(call); err != nil {
		text := strings.SplitN(err.Error(), "\n", 2)[0]
		if len(text) > 200 {
			text = text[:200]
		}
		done.Error = &text
	}
	line, _ := json.Marshal(done)
	fmt.Println(string(line))
}

func safely(call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return call()
}

func equal(actual any, wanted any) error {
	if fmt.Sprint(actual) == fmt.Sprint(wanted) {
		return nil
	}
	return fmt.Errorf("%v instead of %v", actual, wanted)
}

func refused(err error) error {
	if err == nil {
		return fmt.Errorf("not refused")
	}
	return nil
}

func parseCertificate(text string) error {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return fmt.Errorf("no PEM")
	}
	_, err := x509.ParseCertificate(block.Bytes)
	return err
}

func main() {
	if err := json.NewDecoder(os.Stdin).Decode(&sandbox); err != nil {
		panic(err)
	}
	platformOperations()
	vaultOperations()
	nomadOperations()
	consulOperations()
}

func platformOperations() {
	run := func(operation string, call func() error) { attempt("go-tfe", operation, call) }
	isLive := sandbox.Flavor == "hashicorp" // the API documents have fewer relationships
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var client *tfe.Client
	run("NewClient", func() (err error) {
		client, err = tfe.NewClient(&tfe.Config{Address: sandbox.URLs["platform"], Token: sandbox.Tokens["platform"]})
		return err
	})
	run("AgentPools.List", func() error {
		found, err := client.AgentPools.List(ctx, sandbox.Organization, nil)
		if err != nil {
			return err
		}
		return equal(len(found.Items), sandbox.Expected.Pools)
	})
	run("AgentPools.List of a workspace", func() error {
		_, err := client.AgentPools.List(ctx, sandbox.Organization, &tfe.AgentPoolListOptions{AllowedWorkspacesName: "none"})
		return err
	})
	run("AgentPools.List of a project", func() error {
		options := &tfe.AgentPoolListOptions{AllowedProjectsName: "none of these"}
		found, err := client.AgentPools.List(ctx, sandbox.Organization, options)
		if err != nil {
			return err
		}
		return equal(len(found.Items), 0)
	})
	run("AgentPools.List with workspaces", func() error {
		options := &tfe.AgentPoolListOptions{Include: []tfe.AgentPoolIncludeOpt{tfe.AgentPoolWorkspaces}}
		_, err := client.AgentPools.List(ctx, sandbox.Organization, options)
		return err
	})
	var pool *tfe.AgentPool
	run("AgentPools.Create", func() (err error) {
		options := tfe.AgentPoolCreateOptions{
			Name:               tfe.String("of-go-tfe"),
			OrganizationScoped: tfe.Bool(false),
			AllowedWorkspaces:  []*tfe.Workspace{{ID: sandbox.Workspaces[0]}},
		}
		if isLive {
			options.AllowedProjects = []*tfe.Project{{ID: sandbox.Projects[0]}}
			options.ExcludedWorkspaces = []*tfe.Workspace{{ID: sandbox.Workspaces[1]}}
		}
		pool, err = client.AgentPools.Create(ctx, sandbox.Organization, options)
		return err
	})
	run("AgentPools.Read", func() error {
		found, err := client.AgentPools.Read(ctx, pool.ID)
		if err != nil {
			return err
		}
		if err := equal(found.AllowedWorkspaces[0].ID, sandbox.Workspaces[0]); err != nil || !isLive {
			return err
		}
		if err := equal(found.AllowedProjects[0].ID, sandbox.Projects[0]); err != nil {
			return err
		}
		return equal(found.ExcludedWorkspaces[0].ID, sandbox.Workspaces[1])
	})
	run("AgentPools.Update", func() error {
		found, err := client.AgentPools.Update(ctx, pool.ID, tfe.AgentPoolUpdateOptions{Name: tfe.String("renamed")})
		if err != nil {
			return err
		}
		return equal(found.Name, "renamed")
	})
	run("AgentPools.UpdateAllowedProjects", func() error {
		options := tfe.AgentPoolAllowedProjectsUpdateOptions{AllowedProjects: []*tfe.Project{}}
		found, err := client.AgentPools.UpdateAllowedProjects(ctx, pool.ID, options)
		if err != nil {
			return err
		}
		return equal(len(found.AllowedProjects), 0)
	})
	run("AgentPools.UpdateAllowedWorkspaces", func() error {
		options := tfe.AgentPoolAllowedWorkspacesUpdateOptions{AllowedWorkspaces: []*tfe.Workspace{{ID: sandbox.Workspaces[2]}}}
		found, err := client.AgentPools.UpdateAllowedWorkspaces(ctx, pool.ID, options)
		if err != nil {
			return err
		}
		return equal(found.AllowedWorkspaces[0].ID, sandbox.Workspaces[2])
	})
	var token *tfe.AgentToken
	run("AgentTokens.Create", func() (err error) {
		token, err = client.AgentTokens.Create(ctx, pool.ID, tfe.AgentTokenCreateOptions{Description: tfe.String("of go-tfe")})
		return err
	})
	run("AgentTokens.List", func() error {
		found, err := client.AgentTokens.List(ctx, pool.ID)
		if err != nil {
			return err
		}
		return equal(len(found.Items), 1)
	})
	run("AgentTokens.Delete", func() error { return client.AgentTokens.Delete(ctx, token.ID) })
	run("Agents.List", func() error {
		found, err := client.Agents.List(ctx, sandbox.Agent.Pool, nil)
		if err != nil {
			return err
		}
		return equal(len(found.Items), sandbox.Agent.Count)
	})
	run("Agents.Read", func() error {
		found, err := client.Agents.Read(ctx, sandbox.Agent.ID)
		if err != nil {
			return err
		}
		return equal(found.ID, sandbox.Agent.ID)
	})
	run("AgentPools.Delete", func() error { return client.AgentPools.Delete(ctx, pool.ID) })
	run("AgentPools.Read of none", func() error {
		_, err := client.AgentPools.Read(ctx, pool.ID)
		return equal(err, tfe.ErrResourceNotFound)
	})
	run("Users.ReadCurrent", func() error {
		_, err := client.Users.ReadCurrent(ctx)
		return err
	})
	run("Organizations.ReadEntitlements", func() error {
		found, err := client.Organizations.ReadEntitlements(ctx, sandbox.Organization)
		if err != nil {
			return err
		}
		return equal(found.Agents, true)
	})
}

func vaultOperations() {
	run := func(operation string, call func() error) { attempt("vault/api", operation, call) }
	config := vault.DefaultConfig()
	config.Address = sandbox.URLs["secrets"]
	config.MaxRetries = 0
	client, err := vault.NewClient(config)
	if err != nil {
		panic(err)
	}
	client.SetToken(sandbox.Tokens["secrets"])
	mount := sandbox.Expected.Mount
	keys := func(path string, wanted int) error {
		found, err := client.Logical().List(path)
		if err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("no answer")
		}
		return equal(len(found.Data["keys"].([]any)), wanted)
	}
	run("Auth.Token.LookupSelf", func() error {
		found, err := client.Auth().Token().LookupSelf()
		if err != nil {
			return err
		}
		policies, err := found.TokenPolicies()
		if err != nil {
			return err
		}
		return equal(policies, []string{"root"})
	})
	run("Sys.Health", func() error {
		found, err := client.Sys().Health()
		if err != nil {
			return err
		}
		return equal(found.Sealed, false)
	})
	run("Sys.SealStatus", func() error {
		_, err := client.Sys().SealStatus()
		return err
	})
	run("Sys.ListMounts", func() error {
		found, err := client.Sys().ListMounts()
		if err != nil {
			return err
		}
		return equal(found["keymgmt/"].Type, "keymgmt")
	})
	run("Sys.CapabilitiesSelf", func() error {
		found, err := client.Sys().CapabilitiesSelf(mount + "/roles")
		if err != nil {
			return err
		}
		return equal(found, []string{"root"})
	})
	run("Logical.List roles", func() error { return keys(mount+"/roles", sandbox.Expected.Roles) })
	run("Logical.List keys", func() error { return keys("keymgmt/key", sandbox.Expected.Keys) })
	run("Logical.Write role", func() error {
		_, err := client.Logical().Write(mount+"/roles/of-go", map[string]any{"policies": "web", "ttl": "1h"})
		return err
	})
	run("Logical.Read role", func() error {
		found, err := client.Logical().Read(mount + "/roles/of-go")
		if err != nil {
			return err
		}
		return equal(found.Data["ttl"], 3600)
	})
	run("Logical.Read credentials", func() error {
		found, err := client.Logical().Read(mount + "/creds/of-go")
		if err != nil {
			return err
		}
		return equal(found.LeaseDuration, 3600)
	})
	run("Logical.Delete role", func() error {
		_, err := client.Logical().Delete(mount + "/roles/of-go")
		return err
	})
	run("Logical.Read of none", func() error {
		found, err := client.Logical().Read(mount + "/roles/of-go")
		if err != nil {
			return err
		}
		return equal(found == nil, true)
	})
	run("Logical.Read key", func() error {
		found, err := client.Logical().Read("keymgmt/key/payments-signing")
		if err != nil {
			return err
		}
		versions, isNew := found.Data["versions"].(map[string]any)
		if !isNew {
			versions = found.Data["keys"].(map[string]any)
		}
		block, _ := pem.Decode([]byte(versions["1"].(map[string]any)["public_key"].(string)))
		_, err = x509.ParsePKIXPublicKey(block.Bytes)
		return err
	})
}

func nomadOperations() {
	run := func(operation string, call func() error) { attempt("nomad/api", operation, call) }
	client, err := nomad.NewClient(&nomad.Config{Address: sandbox.URLs["scheduler"], SecretID: sandbox.Tokens["scheduler"]})
	if err != nil {
		panic(err)
	}
	run("ACLTokens.Self", func() error {
		found, _, err := client.ACLTokens().Self(nil)
		if err != nil {
			return err
		}
		return equal(found.Type, "management")
	})
	run("ACLPolicies.List", func() error {
		found, _, err := client.ACLPolicies().List(nil)
		if err != nil {
			return err
		}
		return equal(len(found), sandbox.Expected.Policies)
	})
	rules := `namespace "default" { policy = "read" }`
	run("ACLPolicies.Upsert", func() error {
		_, err := client.ACLPolicies().Upsert(&nomad.ACLPolicy{Name: "of-go", Rules: rules}, nil)
		return err
	})
	run("ACLPolicies.Info", func() error {
		found, _, err := client.ACLPolicies().Info("of-go", nil)
		if err != nil {
			return err
		}
		return equal(found.Rules, rules)
	})
	run("ACLPolicies.Delete", func() error {
		_, err := client.ACLPolicies().Delete("of-go", nil)
		return err
	})
	run("Namespaces.List", func() error {
		found, _, err := client.Namespaces().List(nil)
		if err != nil {
			return err
		}
		return equal(len(found), 3)
	})
	run("CSIPlugins.List", func() error {
		found, _, err := client.CSIPlugins().List(nil)
		if err != nil {
			return err
		}
		return equal(len(found), 4)
	})
	run("CSIPlugins.Info", func() error {
		found, _, err := client.CSIPlugins().Info(sandbox.Plugin, nil)
		if err != nil {
			return err
		}
		return equal(found.ID, sandbox.Plugin)
	})
	volumes := client.CSIVolumes()
	run("CSIVolumes.List", func() error {
		found, _, err := volumes.List(&nomad.QueryOptions{Namespace: "*"})
		if err != nil {
			return err
		}
		return equal(len(found), sandbox.Expected.Volumes)
	})
	run("CSIVolumes.List by pages", func() error {
		options := &nomad.QueryOptions{Namespace: "*", PerPage: 7}
		total := 0
		for {
			found, meta, err := volumes.List(options)
			if err != nil {
				return err
			}
			total += len(found)
			if meta.NextToken == "" {
				return equal(total, sandbox.Expected.Volumes)
			}
			options.NextToken = meta.NextToken
		}
	})
	run("CSIVolumes.Info", func() error {
		found, _, err := volumes.Info(sandbox.Volume, nil)
		if err != nil {
			return err
		}
		return equal(found.ExternalID, sandbox.ExternalID)
	})
	run("CSIVolumes.ListExternal", func() error {
		found, _, err := volumes.ListExternal(sandbox.Plugin, &nomad.QueryOptions{PerPage: 1000})
		if err != nil {
			return err
		}
		return equal(len(found.Volumes), sandbox.Expected.Externals)
	})
	run("CSIVolumes.ListSnapshots", func() error {
		found, _, err := volumes.ListSnapshotsOpts(&nomad.CSISnapshotListRequest{
			PluginID: sandbox.Plugin, QueryOptions: nomad.QueryOptions{PerPage: 1000}})
		if err != nil {
			return err
		}
		return equal(len(found.Snapshots), sandbox.Expected.Snapshots)
	})
	capability := []*nomad.CSIVolumeCapability{{
		AccessMode: nomad.CSIVolumeAccessModeSingleNodeWriter, AttachmentMode: nomad.CSIVolumeAttachmentModeFilesystem}}
	volume := &nomad.CSIVolume{
		ID: "of-go", Name: "of-go", PluginID: sandbox.Plugin, RequestedCapabilities: capability,
		RequestedCapacityMin: 1 << 20, RequestedCapacityMax: 1 << 21, Parameters: map[string]string{"owner": "tests"},
		MountOptions: &nomad.CSIMountOptions{FSType: "ext4"},
	}
	run("CSIVolumes.Create", func() error {
		_, _, err := volumes.Create(volume, nil)
		return err
	})
	run("CSIVolumes.Info of the new one", func() error {
		found, _, err := volumes.Info("of-go", nil)
		if err != nil {
			return err
		}
		if err := equal(found.Parameters, volume.Parameters); err != nil {
			return err
		}
		return equal(found.RequestedCapacityMax, volume.RequestedCapacityMax)
	})
	snapshot := &nomad.CSISnapshot{SourceVolumeID: "of-go", PluginID: sandbox.Plugin, Name: "of-go"}
	run("CSIVolumes.CreateSnapshot", func() error {
		made, _, err := volumes.CreateSnapshot(snapshot, nil)
		if err != nil {
			return err
		}
		snapshot.ID = made.Snapshots[0].ID
		return nil
	})
	run("CSIVolumes.DeleteSnapshot", func() error { return volumes.DeleteSnapshot(snapshot, nil) })
	run("CSIVolumes.Detach", func() error { return volumes.Detach("of-go", "node", nil) })
	run("CSIVolumes.Delete", func() error { return volumes.Delete("of-go", nil) })
	run("CSIVolumes.Register", func() error {
		again := *volume
		again.ID, again.ExternalID = "of-go-again", sandbox.ExternalID
		_, err := volumes.Register(&again, nil)
		return err
	})
	run("CSIVolumes.Deregister", func() error { return volumes.Deregister("of-go-again", true, nil) })
	run("CSIVolumes.Info of none", func() error {
		_, _, err := volumes.Info("of-go-again", nil)
		return refused(err)
	})
}

func consulOperations() {
	run := func(operation string, call func() error) { attempt("consul/api", operation, call) }
	address := strings.TrimPrefix(sandbox.URLs["mesh"], "http://")
	client, err := consul.NewClient(&consul.Config{Address: address, Token: sandbox.Tokens["mesh"]})
	if err != nil {
		panic(err)
	}
	run("ACL.TokenReadSelf", func() error {
		found, _, err := client.ACL().TokenReadSelf(nil)
		if err != nil {
			return err
		}
		return equal(found.Policies[0].Name, "global-management")
	})
	run("Agent.ConnectCARoots", func() error {
		found, _, err := client.Agent().ConnectCARoots(nil)
		if err != nil {
			return err
		}
		for _, root := range found.Roots {
			if err := parseCertificate(root.RootCertPEM); err != nil {
				return err
			}
		}
		return nil
	})
	run("Agent.ConnectCALeaf", func() error {
		found, _, err := client.Agent().ConnectCALeaf("web", nil)
		if err != nil {
			return err
		}
		_, err = tls.X509KeyPair([]byte(found.CertPEM), []byte(found.PrivateKeyPEM))
		return err
	})
	run("Agent.ConnectAuthorize", func() error {
		found, err := client.Agent().ConnectAuthorize(&consul.AgentAuthorizeParams{
			Target: "api", ClientCertURI: "spiffe://x.consul/ns/default/dc/dc1/svc/web", ClientCertSerial: "04:00"})
		if err != nil {
			return err
		}
		return equal(found.Authorized, true)
	})
	run("Catalog.Services", func() error {
		found, _, err := client.Catalog().Services(nil)
		if err != nil {
			return err
		}
		return equal(len(found), 5)
	})
	run("Agent.Services", func() error {
		found, err := client.Agent().Services()
		if err != nil {
			return err
		}
		return equal(len(found), 4)
	})
}
