# Runs Tidemark every night in Nomad: nomad job run tidemark.nomad.hcl
# Requires an image built from deploy/container/Containerfile in place of `tidemark:0.1.0`, a host volume `tidemark` that uid 1000
# may write to, and the secrets: nomad var put nomad/jobs/tidemark TFE_TOKEN=… SMTP_PASSWORD=…
job "tidemark" {
  type = "batch"

  periodic {
    crons            = ["15 2 * * *"]
    time_zone        = "UTC" # in a zone with daylight saving time, avoid the hour that is skipped: Nomad skips the run
    prohibit_overlap = true
  }

  group "tidemark" {
    volume "data" {
      type   = "host"
      source = "tidemark"
    }

    # A run retries requests itself.
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
        args            = ["--config", "/local/tidemark.yaml", "run", "nightly"]
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
          {{ with nomadVar "nomad/jobs/tidemark" }}
          TFE_TOKEN={{ .TFE_TOKEN }}
          SMTP_PASSWORD={{ .SMTP_PASSWORD }}
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
}
