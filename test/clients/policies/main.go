// Parses policies with the code of the servers that read them.
//
// It reads a JSON array of {"service", "rules"} from standard input, and writes one line of JSON for each: an error, or null.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	nomad "github.com/hashicorp/nomad/acl"
)

type policy struct {
	Service string `json:"service"`
	Rules   string `json:"rules"`
}

func parse(given policy) error {
	switch given.Service {
	case "nomad":
		_, err := nomad.Parse(given.Rules)
		return err
	default:
		return fmt.Errorf("no parser for %s", given.Service)
	}
}

func main() {
	var policies []policy
	if err := json.NewDecoder(os.Stdin).Decode(&policies); err != nil {
		panic(err)
	}
	for _, given := range policies {
		var message *string
		if err := parse(given); err != nil {
			text := err.Error()
			message = &text
		}
		line, _ := json.Marshal(message)
		fmt.Println(string(line))
	}
}
