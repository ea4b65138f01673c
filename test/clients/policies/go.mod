module tidemark/test/policies

go 1.26.8

require github.com/hashicorp/nomad v1.10.5

require (
	github.com/hashicorp/go-immutable-radix/v2 v2.1.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/hashicorp/hcl v1.0.1-vault-7 // indirect
	github.com/ryanuber/go-glob v1.0.0 // indirect
)
