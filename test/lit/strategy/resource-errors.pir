// RUN: piper-opt --split-input-file --verify-diagnostics %s

// A stream is for work that exists.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{there is no work 'all_to_al'}}
  strategy.resource stream "a2a" for all_to_al over "dp"
}

// -----

// An axis of the mesh; filters select compute nodes, axes communication.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{the mesh has no axis "ep"}}
  strategy.resource stream "a2a" for all_to_all over "ep"
  // expected-error@+1 {{'over' is for communication, but the stream is for compute nodes too}}
  strategy.resource stream "a2a" for compute|transfer over "dp"
  // expected-error@+1 {{a filter selects compute nodes, but the stream is for communication too}}
  strategy.resource stream "a2a" for compute|transfer {PASS = BW}
  // expected-error@+1 {{a stream has a name}}
  strategy.resource stream "" for compute
  // expected-error@+1 {{the mesh has no axis "ep"}}
  strategy.resource interleave over "ep"
  // expected-error@+1 {{the mesh has no axis "ep"}}
  strategy.overlap over "ep"
  // expected-error@+1 {{a resource is one of 'stream', 'partition' or 'interleave'}}
  "strategy.resource"() {stream = "a", interleave = "dp"} : () -> ()
  // expected-error@+1 {{this form of resource has no option 'sms'}}
  "strategy.resource"() {interleave = "dp", sms = 8} : () -> ()
}

// -----

// A partition is of an architecture, in its unit, for streams.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{a partition is of a device of some architecture}}
  strategy.resource partition "comm" sms = 24 streams = ["comm"]
  // expected-error@+1 {{the partition lacks 'sms'}}
  strategy.resource partition "comm" arch = "sm_90" streams = ["comm"]
  // expected-error@+1 {{a partition of "cpu" has no 'sms'}}
  strategy.resource partition "comm" arch = "cpu" sms = 24 streams = ["comm"]
  // expected-error@+1 {{a partition of "sm_90" has no 'workers'}}
  strategy.resource partition "comm" arch = "sm_90" workers = 24 streams = ["comm"]
  // expected-error@+1 {{workers of a CPU have no 'ctas'}}
  strategy.resource partition "comm" arch = "cpu" workers = 1 streams = ["comm"] ctas = 4
  // expected-error@+1 {{'sms' must be at least 1, but is 0}}
  strategy.resource partition "comm" arch = "sm_90" sms = 0 streams = ["comm"]
  // expected-error@+1 {{a partition has streams that run on it}}
  strategy.resource partition "comm" arch = "sm_90" sms = 24
  // expected-error@+1 {{stream "comm" stands twice}}
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm", "comm"]
  // expected-error@+1 {{'nccl' is a version such as "2.21", not "new"}}
  strategy.resource partition "comm" arch = "sm_90" sms = 24 streams = ["comm"] nccl = "new"
  // expected-error@+1 {{the partition lacks 'comm'}}
  strategy.sm_partition arch = "sm_90" streams = ["comm"]
}

// -----

// Options have names, each once.
strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{a partition has no option 'sm'}}
  strategy.resource partition "comm" arch = "sm_90" sm = 24 streams = ["comm"]
}

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{option 'arch' stands twice}}
  strategy.resource partition "comm" arch = "sm_90" arch = "sm_80" sms = 24
}

// -----

strategy.mesh @m <["pp" = 2, "dp" = 2]>
func.func private @loss()
strategy.plan @train for @loss on @m {
  // expected-error@+1 {{expected 'stream', 'partition' or 'interleave'}}
  strategy.resource streem "a2a"
}
