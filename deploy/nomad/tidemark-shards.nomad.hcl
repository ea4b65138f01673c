# Runs Tidemark every night in 16 shards in Nomad: nomad job run tidemark-shards.nomad.hcl
# Requires the image and the secrets of tidemark.nomad.hcl, and a CSI volume `tidemark-shards` that several nodes can write to, with hard
# links and file locks. A warehouse on it has a single writer, the allocation of its shard.
job "tidemark-shards" {
  type = "batch"

  periodic {
    crons            = ["15 2 * * *"]
    time_zone        = "UTC"
    prohibit_overlap = true
  }

  group "shard" {
    count = 16

    volume "data" {
      type            = "csi"
      source          = "tidemark-shards"
      access_mode     = "multi-node-multi-writer"
      attachment_mode = "file-system"
    }

    # A run retries requests itself. A shard that fails leaves its targets stale, and does not stop the others.
    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }

    task "run" {
      driver       = "docker"
      user         = "1000:1000"
      kill_timeout = "15s"

      config {
        image           = "tidemark:0.1.0"
        entrypoint      = ["sh", "-c"]
        # Nomad counts from 0.
        args            = ["exec node /app/bin/tidemark.js --config /local/tidemark.yaml --shard $((NOMAD_ALLOC_INDEX + 1))/16 run nightly"]
        readonly_rootfs = true
        cap_drop        = ["all"]
      }

      volume_mount {
        volume      = "data"
        destination = "/var/lib/tidemark"
      }

      template {
        destination = "local/tidemark.yaml"
        data        = <<-EOF
          data: /var/lib/tidemark/data
          output: /var/lib/tidemark/out
          lake: /var/lib/tidemark/lake
          targets:
            - name: acme
              kind: platform
              url: https://app.terraform.io
              organization: acme
              token: $${TFE_TOKEN}
              flavor: hashicorp
        EOF
      }

      template {
        destination = "secrets/env"
        env         = true
        data        = <<-EOF
          {{ with nomadVar "nomad/jobs/tidemark-shards" }}
          TFE_TOKEN={{ .TFE_TOKEN }}
          {{ end }}
        EOF
      }

      resources {
        cpu        = 1000
        memory     = 1024
        memory_max = 3072
      }
    }
  }

  # Needs no token. Waits as long as the shards may run, then closes those that have published.
  group "close" {
    volume "data" {
      type            = "csi"
      source          = "tidemark-shards"
      access_mode     = "multi-node-multi-writer"
      attachment_mode = "file-system"
    }

    task "close" {
      driver = "docker"
      user   = "1000:1000"

      config {
        image           = "tidemark:0.1.0"
        args            = ["--config", "/local/tidemark.yaml", "lake", "close", "--shards", "16", "--wait", "7500"]
        readonly_rootfs = true
        cap_drop        = ["all"]
      }

      volume_mount {
        volume      = "data"
        destination = "/var/lib/tidemark"
      }

      template {
        destination = "local/tidemark.yaml"
        data        = <<-EOF
          data: /var/lib/tidemark/data
          lake: /var/lib/tidemark/lake
          targets:
            - name: acme
              kind: platform
              url: https://app.terraform.io
              organization: acme
              token: $${TFE_TOKEN}
              flavor: hashicorp
        EOF
      }

      resources {
        cpu        = 200
        memory     = 1024
        memory_max = 2048
      }
    }
  }
}
